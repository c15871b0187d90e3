import { setTimeout as pause } from 'node:timers/promises';
import type { BackfillRange, WindowBlock } from '../../../schemas/events/chain-events.ts';
import { ChainUnavailable, type BlockHeader, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import type { Logger } from '../../../shared/observability/logger.ts';
import { arrivalOf, extend, type Window } from '../domain/local-chain.ts';
import { Backfiller, observeWindow } from './backfiller.ts';
import { recordsOfBlock } from './block-records.ts';
import { addSpans, ChainLedger } from './chain-ledger.ts';
import type { JournalDependencies } from './contract-journal.ts';
import type { ProgressMeter } from './progress-meter.ts';
import { Registrations, type Registration } from './registrations.ts';
import { Semaphore } from './semaphore.ts';
import type { Watch } from './watch-list.ts';

export interface FollowedChain {
  chainId: number;
  confirmations: number;
  pollMs: number;
  /** A development chain may lose blocks or begin anew; any other that does is refused. */
  isDevelopment: boolean;
}

export interface FollowerDependencies extends JournalDependencies {
  reader: ChainReader;
  meter: ProgressMeter;
  logger: Logger;
}

/** The chain contradicts a block that was final. */
export class DeeperThanFinality extends Error {
  override readonly name = 'DeeperThanFinality';
}

/** The ledger was put on another footing: everything that runs on it begins again. */
class StartAgain extends Error {
  override readonly name = 'StartAgain';
}

const BACKFILLS_AT_ONCE = 4;
/** Missing headers are asked for so many at a time. */
const HEADERS_AT_ONCE = 50;
/** A head further away than this is not walked to block by block: the blocks between are read as ranges. */
const WALK_BLOCKS_MAX = 500;
const ARRIVALS_MAX = 5_000;

/**
 * Follows one chain. What must stay true:
 * - the window is linked, and its blocks' records are stored before a checkpoint names them;
 * - a watch is live only when everything before the window, and in it, is stored;
 * - whatever fails, running again from the newest checkpoint stores nothing twice and misses nothing.
 */
export class ChainFollower {
  private readonly watches = new Map<string, Watch>();
  private readonly filling = new Semaphore(BACKFILLS_AT_ONCE);
  private running: Promise<unknown>[] = [];
  private stop = new AbortController();

  private constructor(
    private readonly chain: FollowedChain,
    private readonly dependencies: FollowerDependencies,
    private readonly ledger: ChainLedger,
  ) {}

  /** Follows until the signal aborts, or something fails: then run it again. @param working called at each step forward */
  static async run(
    chain: FollowedChain,
    dependencies: FollowerDependencies,
    signal: AbortSignal,
    working: () => void,
  ): Promise<void> {
    const ledger = await ChainLedger.load(dependencies, chain.chainId);
    const follower = new ChainFollower(chain, dependencies, ledger);
    try {
      await follower.follow(signal, working);
    } catch (error) {
      if (!(error instanceof StartAgain)) throw error;
      working();
    } finally {
      follower.stop.abort();
      await Promise.allSettled(follower.running);
    }
  }

  private async follow(signal: AbortSignal, working: () => void): Promise<void> {
    const registrations = new Registrations(this.dependencies.eventStore, this.chain.chainId);
    for (const registration of await registrations.until(this.ledger.watchesUpTo)) this.restore(registration);
    await Promise.all(Array.from(this.watches.values(), ({ contract }) => this.ledger.journal(contract)));
    await this.ledger.exclusively(() => this.begin());
    const { signal: stopping } = this.stop;
    signal.addEventListener('abort', () => { this.stop.abort(); }, { once: true });
    if (signal.aborted) return;
    const { promise: failed, reject } = Promise.withResolvers<never>();
    const guard = (work: Promise<unknown>) => {
      this.running.push(work);
      work.catch(reject);
    };
    for (const range of this.ledger.backfills) guard(this.fill(range, stopping));
    guard(
      registrations.follow(this.ledger.watchesUpTo, stopping, async (added, position) => {
        const ranges = await this.ledger.exclusively(() => this.take(added, position));
        for (const range of ranges) guard(this.fill(range, stopping));
      }),
    );
    await Promise.race([failed, this.followHead(stopping, working)]);
  }

  private async followHead(signal: AbortSignal, working: () => void): Promise<void> {
    while (!signal.aborted) {
      const head = await this.dependencies.reader.head();
      if (head.hash !== this.ledger.window?.at(-1)?.hash) {
        await this.ledger.exclusively(() => this.arrive(head));
      } else {
        await this.ledger.exclusively(() => this.ledger.checkpointNowAndThen());
      }
      working();
      await pause(this.chain.pollMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** The first window, or the stored one held against the chain. */
  private async begin(): Promise<void> {
    const { window } = this.ledger;
    if (!window) {
      await this.beginAt(await this.dependencies.reader.head());
      return this.ledger.checkpoint();
    }
    const headers = await this.headers(window.map(({ number }) => number));
    if (headers[0]?.hash !== window[0].hash) return this.beginAnew();
    await this.standAgain(window, headers);
  }

  /** Reversals behind the checkpoint of blocks that are of the chain (again) are undone: nothing else would. */
  private async standAgain(window: Window<WindowBlock>, headers: readonly (BlockHeader | undefined)[]): Promise<void> {
    const [first, ...rest] = window;
    const blocks = [];
    for (const [at, block] of rest.entries()) {
      const isCanonical = headers[at + 1]?.hash === block.hash;
      const reverted = isCanonical
        ? Array.from(this.ledger.knownJournals.values())
            .flatMap(({ unconfirmedRecords }) => unconfirmedRecords)
            .filter(({ stands, record }) => !stands && record.BlockHash === block.hash)
            .map(({ record }) => record)
        : [];
      blocks.push(addSpans(block, await this.ledger.observe(reverted)));
    }
    this.ledger.window = [first, ...blocks];
  }

  private async beginAt(head: BlockHeader): Promise<void> {
    const from = Math.max(0, head.number - this.chain.confirmations);
    const numbers = Array.from({ length: head.number - from + 1 }, (_, index) => from + index);
    const [first, ...rest] = (await this.headers(numbers)).map((header) => {
      if (!header) throw new ChainUnavailable('the chain changed while its first blocks were read');
      return toWindowBlock(header);
    });
    if (!first) throw new ChainUnavailable('the chain has no blocks');
    let window: Window<WindowBlock> = [first];
    for (const block of rest) {
      if (arrivalOf(window, block).kind !== 'extension') throw new ChainUnavailable('the chain changed while it was read');
      window = extend(window, block, this.chain.confirmations);
    }
    this.ledger.window = window;
  }

  /** A development chain that lost blocks: everything stored of it is reverted, and it is read from the beginning. */
  private async beginAnew(): Promise<void> {
    const { chainId, isDevelopment } = this.chain;
    if (!isDevelopment) {
      throw new DeeperThanFinality(`chain ${String(chainId)} contradicts a block that was final: check its RPC endpoints`);
    }
    this.dependencies.logger.warn({ chainId }, 'the local chain lost blocks: it is read again from the beginning');
    for (const contract of new Set(Array.from(this.watches.values(), (watch) => watch.contract))) {
      const journal = await this.ledger.journal(contract);
      await journal.revert(await journal.allStanding());
      for (const { record } of journal.unconfirmedRecords) journal.settle(record.Id);
    }
    await this.beginAt(await this.dependencies.reader.head());
    this.ledger.backfills = Array.from(this.watches.values(), (watch) => this.joiningRange(watch, watch.startBlock));
    await this.ledger.checkpoint();
    throw new StartAgain();
  }

  /** Takes a header and all that must come before it into the window. */
  private async arrive(head: BlockHeader): Promise<void> {
    const pending = [head];
    for (let step = 0; pending.length > 0; step += 1) {
      if (step > ARRIVALS_MAX) throw new ChainUnavailable('the chain changes faster than it can be followed');
      const header = pending.at(-1);
      if (!header || !this.ledger.window) return;
      const arrival = arrivalOf(this.ledger.window, header);
      switch (arrival.kind) {
        case 'extension':
          await this.append(header);
          pending.pop();
          break;
        case 'reorganisation':
          await this.ledger.revertBlocks(arrival.removed);
          this.dependencies.logger.info(
            { chainId: this.chain.chainId, depth: arrival.removed.length, block: header.number },
            'reorganisation',
          );
          this.ledger.window = arrival.kept;
          break;
        case 'gap':
          if (arrival.to - arrival.from > WALK_BLOCKS_MAX) return this.leap(head);
          pending.push(...(await this.missing(arrival.from, arrival.to)));
          break;
        case 'fork':
          pending.push(await this.parent(arrival.parentHash));
          break;
        case 'deeper-than-finality':
          return this.beginAnew();
        case 'impossible':
          throw new ChainUnavailable(`block ${header.hash} has a number that does not follow its parent's`);
        case 'duplicate':
          pending.pop();
          if (head.number < this.ledger.window[0].number) await this.requireFinalBlock();
      }
    }
    await this.ledger.checkpoint();
  }

  /** A head behind the final block is a provider that lags, or a development chain that lost blocks. */
  private async requireFinalBlock(): Promise<void> {
    if (!this.chain.isDevelopment || !this.ledger.window) return;
    const [final] = this.ledger.window;
    const [header] = await this.headers([final.number]);
    if (header?.hash !== final.hash) await this.beginAnew();
  }

  private async append(header: BlockHeader): Promise<void> {
    if (!this.ledger.window) return;
    const records = await recordsOfBlock(this.dependencies.reader, header, this.liveWatches(), 'live');
    await this.revertOrphans(header);
    const block = addSpans(toWindowBlock(header), await this.ledger.observe(records));
    this.settleMissed(header);
    this.ledger.window = extend(this.ledger.window, block, this.chain.confirmations);
  }

  /** What was stored behind the checkpoint, of another block of this number, is no longer of the chain. */
  private async revertOrphans({ number, hash }: BlockHeader): Promise<void> {
    for (const journal of this.ledger.knownJournals.values()) {
      if (!journal.hasUnconfirmed) continue;
      const orphans = journal.unconfirmedRecords.filter(
        ({ record }) => record.BlockNumber === number && record.BlockHash !== hash,
      );
      await journal.revert(orphans.map(({ record }) => record).reverse());
    }
  }

  /** What was stored of this very block, and is not among its logs now, is not doubted for ever. */
  private settleMissed({ hash }: BlockHeader): void {
    const live = new Set(this.liveWatches().map(({ contract, eventSignature }) => contract + eventSignature));
    for (const [contract, journal] of this.ledger.knownJournals) {
      for (const { record } of journal.hasUnconfirmed ? journal.unconfirmedRecords : []) {
        if (record.BlockHash === hash && live.has(contract + record.EventSignature)) journal.settle(record.Id);
      }
    }
  }

  /** Far behind after a pause: live watches read the blocks between as ranges, and join again near the head. */
  private async leap(head: BlockHeader): Promise<void> {
    const { window } = this.ledger;
    if (!window) return;
    const headers = await this.headers(window.map(({ number }) => number));
    const removed = window.filter(({ hash }, at) => headers[at]?.hash !== hash);
    if (removed.includes(window[0])) return this.beginAnew();
    await this.ledger.revertBlocks(removed.toReversed());
    const next = (window.findLast((block) => !removed.includes(block))?.number ?? window[0].number) + 1;
    const live = this.liveWatches();
    await this.beginAt(head);
    this.ledger.backfills.push(...live.map((watch) => this.joiningRange(watch, Math.max(next, watch.startBlock))));
    await this.ledger.checkpoint();
    throw new StartAgain();
  }

  private async missing(from: number, to: number): Promise<BlockHeader[]> {
    const until = Math.min(to, from + HEADERS_AT_ONCE - 1);
    const numbers = Array.from({ length: until - from + 1 }, (_, index) => until - index);
    return (await this.headers(numbers)).map((header) => {
      if (!header) throw new ChainUnavailable('the provider does not have blocks below its head');
      return header;
    });
  }

  private async parent(hash: string): Promise<BlockHeader> {
    const header = await this.dependencies.reader.headerByHash(hash);
    if (!header) throw new ChainUnavailable('the provider does not have the parent of its own block');
    return header;
  }

  private headers(numbers: readonly number[]): Promise<(BlockHeader | undefined)[]> {
    return this.dependencies.reader.headersByNumber(numbers);
  }

  private liveWatches(): Watch[] {
    const joining = new Set(this.ledger.backfills.filter(({ joins }) => joins).map(({ watchId }) => watchId));
    return Array.from(this.watches.values()).filter(({ id }) => !joining.has(id));
  }

  private fill(range: BackfillRange, signal: AbortSignal): Promise<void> {
    const watch = this.watches.get(range.watchId);
    if (!watch) throw new Error(`a backfill of ${range.watchId}, which is not registered`);
    const { reader, meter } = this.dependencies;
    return this.filling.use(signal, () => new Backfiller({ reader, ledger: this.ledger, meter }, watch, range).run(signal));
  }

  /** A registration that the newest checkpoint knows. */
  private restore(registration: Registration): void {
    if (registration.kind === 'extended') {
      const watch = this.watches.get(registration.watchId);
      if (watch) watch.startBlock = registration.startBlock;
    } else if (!this.watches.has(registration.watch.id)) {
      this.watches.set(registration.watch.id, registration.watch);
    }
  }

  /** New registrations: what has to be read for them. */
  private async take(registrations: readonly Registration[], position: number): Promise<BackfillRange[]> {
    const ranges: BackfillRange[] = [];
    for (const registration of registrations) {
      if (registration.kind === 'registered') {
        const { watch } = registration;
        if (this.watches.has(watch.id)) continue;
        this.watches.set(watch.id, watch);
        await this.ledger.journal(watch.contract);
        ranges.push(this.joiningRange(watch, watch.startBlock));
      } else {
        ranges.push(...(await this.extendBackwards(registration.watchId, registration.startBlock)));
      }
    }
    this.ledger.backfills.push(...ranges);
    this.ledger.watchesUpTo = position;
    if (ranges.length > 0) await this.ledger.checkpoint();
    return ranges;
  }

  private async extendBackwards(watchId: string, startBlock: number): Promise<BackfillRange[]> {
    const watch = this.watches.get(watchId);
    if (!watch || startBlock >= watch.startBlock) return [];
    const before = watch.startBlock;
    watch.startBlock = startBlock;
    const isLive = this.liveWatches().includes(watch);
    const wanted = (block: number) => block >= startBlock && block < before;
    if (isLive) await observeWindow(this.dependencies.reader, this.ledger, watch, wanted);
    const finalized = this.ledger.window?.[0].number ?? 0;
    const to = isLive ? Math.min(before - 1, finalized) : before - 1;
    return [{ watchId, from: startBlock, next: startBlock, to, joins: false }];
  }

  private joiningRange(watch: Watch, from: number): BackfillRange {
    const to = this.ledger.window?.[0].number ?? 0;
    return { watchId: watch.id, from, next: from, to, joins: true };
  }
}

const toWindowBlock = ({ number, hash, parentHash, timestamp }: BlockHeader): WindowBlock => ({
  number,
  hash,
  parentHash,
  timestamp,
  observed: {},
});
