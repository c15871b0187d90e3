import type { WindowBlock } from '../../../schemas/events/chain-events.ts';
import { ChainUnavailable, type BlockHeader, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import type { Logger } from 'pino';
import { arrivalOf, cutAfter, extend, isFar, toWindowBlock, WALK_BLOCKS_MAX, type Window } from '../domain/window.ts';
import { recordsOfBlock } from './block-records.ts';
import type { ChainLedger } from './chain-ledger.ts';
import { DeeperThanFinality, FootingLost, type FollowedChain } from './followed-chain.ts';
import { isOf } from './watched-event.ts';
import type { WatchRoster } from './watch-roster.ts';

/** Missing headers are asked for so many at a time. */
const HEADERS_AT_ONCE = 50;
const ARRIVALS_MAX = 5_000;

/** Moves the window to a head, block by block: each block's records are stored before the window holds it. */
export class HeadWalker {
  constructor(
    private readonly chain: FollowedChain,
    private readonly reader: ChainReader,
    private readonly ledger: ChainLedger,
    private readonly roster: WatchRoster,
    private readonly logger: Logger,
  ) {}

  /** Goes to a head, or as far on the way to it as is walked at once; only inside `exclusively`. @throws FootingLost */
  async approach(head: BlockHeader): Promise<void> {
    const { window } = this.ledger;
    const isTooFar = window && isFar(window, head, this.chain.confirmations) && !this.roster.mayLeap;
    await this.arrive(isTooFar ? await this.onTheWay(window) : head);
  }

  /** Takes a header and all that must come before it into the window. */
  private async arrive(head: BlockHeader): Promise<void> {
    if (this.chain.isDevelopment) await this.goBackTo(head);
    const pending = [head];
    for (let step = 0; ; step += 1) {
      if (step > ARRIVALS_MAX) throw new ChainUnavailable('the chain changes faster than it can be followed');
      const header = pending.at(-1);
      const { window } = this.ledger;
      if (!header || !window) break;
      const arrival = arrivalOf(window, header);
      switch (arrival.kind) {
        case 'extension':
          await this.append(window, header);
          pending.pop();
          break;
        case 'reorganisation':
          await this.cut(arrival);
          break;
        case 'gap':
          if (isFar(window, header, this.chain.confirmations)) throw new FootingLost('the head is far away');
          pending.push(...(await this.missing(arrival.from, arrival.to)));
          break;
        case 'fork':
          pending.push(await this.parent(arrival.parentHash));
          break;
        case 'deeper-than-finality':
          if (!this.chain.isDevelopment) throw new DeeperThanFinality(this.chain.chainId);
          throw new FootingLost('the chain lost final blocks');
        case 'impossible':
          throw new ChainUnavailable(`block ${header.hash} has a number that does not follow its parent's`);
        case 'duplicate':
          pending.pop();
      }
    }
    await this.ledger.checkpoint();
  }

  /** A development chain whose head is an older block lost those after it. Of any other, the provider lags. */
  private async goBackTo(head: BlockHeader): Promise<void> {
    const { window } = this.ledger;
    if (!window) return;
    if (window.some(({ hash }) => hash === head.hash)) await this.cut(cutAfter(window, head.hash));
    if (head.number < window[0].number) throw new FootingLost('the chain lost final blocks');
  }

  private async cut({ kept, removed }: { kept: Window<WindowBlock>; removed: readonly WindowBlock[] }): Promise<void> {
    if (removed.length === 0) return;
    await this.ledger.revertBlocks(removed);
    this.ledger.window = kept;
    const { chainId } = this.chain;
    this.logger.info({ chainId, depth: removed.length, block: removed.at(-1)?.number }, 'reorganisation');
  }

  private async append(window: Window<WindowBlock>, header: BlockHeader): Promise<void> {
    const live = this.roster.live();
    const records = await recordsOfBlock(this.reader, header, live, 'live');
    const { number, hash } = header;
    // Stored behind the checkpoint, of another block of this number: no longer of the chain.
    await this.ledger.revertUnconfirmed(({ BlockNumber, BlockHash }) => BlockNumber === number && BlockHash !== hash);
    const block = toWindowBlock(header, this.ledger.position);
    await this.ledger.observe(records);
    // Of this very block, and not among its logs now: not doubted for ever.
    this.ledger.settle((record) => record.BlockHash === hash && live.some((watch) => isOf(watch, record)));
    this.ledger.window = extend(window, block, this.chain.confirmations);
  }

  private async onTheWay(window: Window<WindowBlock>): Promise<BlockHeader> {
    const [header] = await this.reader.headersByNumber([(window.at(-1) ?? window[0]).number + WALK_BLOCKS_MAX]);
    if (!header) throw new ChainUnavailable('the provider does not have blocks below its head');
    return header;
  }

  private async missing(from: number, to: number): Promise<BlockHeader[]> {
    const until = Math.min(to, from + HEADERS_AT_ONCE - 1);
    const numbers = Array.from({ length: until - from + 1 }, (_, index) => until - index);
    return (await this.reader.headersByNumber(numbers)).map((header) => {
      if (!header) throw new ChainUnavailable('the provider does not have blocks below its head');
      return header;
    });
  }

  private async parent(hash: string): Promise<BlockHeader> {
    const header = await this.reader.headerByHash(hash);
    if (!header) throw new ChainUnavailable('the provider does not have the parent of its own block');
    return header;
  }
}
