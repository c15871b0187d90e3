import type { WindowBlock } from '../../../schemas/events/chain-events.ts';
import { ChainUnavailable, type BlockHeader, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import type { Logger } from 'pino';
import { arrivalOf, extend, isFar, toWindowBlock, type Window } from '../domain/window.ts';
import type { ChainLedger } from './chain-ledger.ts';
import { DeeperThanFinality, type FollowedChain } from './followed-chain.ts';
import { isOf } from './watched-event.ts';
import type { WatchRoster } from './watch-roster.ts';

/**
 * Puts the ledger of a start on the chain as it is now, before anything else runs on it. What must be true after it: of
 * what was stored behind the checkpoint and is not final, everything is of the chain, or of a block of the window.
 */
export class Footing {
  constructor(
    private readonly chain: FollowedChain,
    private readonly reader: ChainReader,
    private readonly ledger: ChainLedger,
    private readonly roster: WatchRoster,
    private readonly logger: Logger,
  ) {}

  async find(head: BlockHeader): Promise<void> {
    const { window } = this.ledger;
    if (!window) {
      await this.beginAt(head);
      return;
    }
    const [final] = await this.reader.headersByNumber([window[0].number]);
    if (final?.hash !== window[0].hash) {
      await this.beginAnew(head, final !== undefined);
      return;
    }
    await this.judgeUnconfirmed(window);
    if (isFar(window, head, this.chain.confirmations) && this.roster.mayLeap) await this.leap(window, head);
  }

  private async beginAt(head: BlockHeader): Promise<void> {
    const from = Math.max(0, head.number - this.chain.confirmations);
    const numbers = Array.from({ length: head.number - from + 1 }, (_, index) => from + index);
    const [first, ...rest] = (await this.reader.headersByNumber(numbers)).map((header) => {
      if (!header) throw new ChainUnavailable('the chain changed while its first blocks were read');
      return toWindowBlock(header, this.ledger.position);
    });
    if (!first) throw new ChainUnavailable('the chain has no blocks');
    let window: Window<WindowBlock> = [first];
    for (const block of rest) {
      if (arrivalOf(window, block).kind !== 'extension')
        throw new ChainUnavailable('the chain changed while it was read');
      window = extend(window, block, this.chain.confirmations);
    }
    this.ledger.window = window;
  }

  /** A development chain that lost final blocks: everything stored of it is reverted, and it is read from the beginning. */
  private async beginAnew(head: BlockHeader, isContradicted: boolean): Promise<void> {
    const { chainId, isDevelopment } = this.chain;
    if (!isDevelopment) {
      if (isContradicted) throw new DeeperThanFinality(chainId);
      throw new ChainUnavailable('the provider does not have the block that was final');
    }
    this.logger.warn({ chainId }, 'the local chain lost blocks: it is read again from the beginning');
    await this.ledger.revertAll();
    await this.beginAt(head);
    this.roster.beginAnew();
  }

  /**
   * What was stored behind the checkpoint is reverted if the chain does not have it now. What live watches have in blocks
   * of the window is confirmed, or observed again if it was reverted: those blocks do not arrive a second time.
   */
  private async judgeUnconfirmed(window: Window<WindowBlock>): Promise<void> {
    const [final, ...rest] = window;
    const doubted = this.ledger.unconfirmed.filter(({ BlockNumber }) => BlockNumber > final.number);
    const numbers = [...new Set(doubted.map(({ BlockNumber }) => BlockNumber))];
    const canonical = new Set((await this.reader.headersByNumber(numbers)).map((header) => header?.hash));
    const known = new Set(window.map(({ hash }) => hash));
    await this.ledger.revertUnconfirmed(
      ({ BlockNumber, BlockHash }) => BlockNumber > final.number && !canonical.has(BlockHash) && !known.has(BlockHash),
    );
    const live = this.roster.live();
    for (const { hash } of rest) {
      const records = doubted.filter(
        (record) => record.BlockHash === hash && canonical.has(hash) && live.some((watch) => isOf(watch, record)),
      );
      await this.ledger.observe(records.toSorted((left, right) => left.LogIndex - right.LogIndex));
    }
  }

  /** Far behind after a pause: live watches read the blocks between as ranges, and join again near the head. */
  private async leap(window: Window<WindowBlock>, head: BlockHeader): Promise<void> {
    const headers = await this.reader.headersByNumber(window.map(({ number }) => number));
    const removed = window.filter(({ hash }, at) => headers[at]?.hash !== hash);
    const last = window.findLast((block) => !removed.includes(block));
    if (!last || removed.includes(window[0])) throw new ChainUnavailable('the chain changed while it was read');
    await this.ledger.revertBlocks(removed.toReversed());
    const live = this.roster.live();
    await this.beginAt(head);
    this.ledger.backfills.push(
      ...live.map((watch) => this.roster.joiningRange(watch, Math.max(last.number + 1, watch.startBlock))),
    );
  }
}
