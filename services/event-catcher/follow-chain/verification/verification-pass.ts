import { BlocksRefused, ChainUnavailable, RangeTooLarge } from '../../../../shared/chain/chain-reader.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import type { ChainProgress } from '../../domain/chain-progress.ts';
import { ChunkSize } from '../../domain/backfill/chunk-size.ts';
import { allRanges } from '../../domain/backfill/coverage.ts';
import { FairQueue, firstOf } from '../fair-queue.ts';
import {
  addReplays,
  leaveBehind,
  nextOfAll,
  nextOfBehind,
  nextOfReplay,
  readUpTo,
  verify,
  verifyFrom,
  type Replay,
  type ToVerify,
  type Verification,
} from '../../domain/verification.ts';
import type { FollowerDependencies } from '../followed-chain.ts';
import { isToRead } from '../backfill/ranges-to-read.ts';
import { isAnswering, withRemedy } from '../unread-blocks/refusals.ts';
import type { Resumed } from '../window/resume.ts';
import type { WatchedEvent } from '../watches/watched-event.ts';
import { StoredUnavailable } from './stored-records.ts';
import { compareRange, type Compared } from './compare-range.ts';
import { BLOOMS_AT_ONCE } from './logs-by-blooms.ts';
import {
  keyOf,
  replaysAndOtherSkipped,
  skipUnreadRanges,
  UnverifiableBlocks,
  waitingKeys,
  type Keyed,
} from './skipped-blocks.ts';

/** `ChainVerified` lists the watches whose verification lags: this many take about 400 KB. Further watches wait. */
const BEHIND_MAX = 10_000;
/** The pause after each comparison, in multiples of the time that it took. Longer while backfills have work. */
const REST = 1;
const REST_WHILE_BACKFILLING = 9;
const STORE_EVERY_MS = 1_000;
const MANY_BEHIND = 1_000;
const RETRY = { firstMs: 1_000, maxMs: 300_000 };
/** A watch is reported as unverified after more failures in a row than this. */
const FAILURES_OF_MOMENTS = 2;

interface Dependencies extends Resumed, Pick<FollowerDependencies, 'storedRecords'> {
  clock: Pick<Clock, 'elapsed'>;
}

/** Blocks to verify next: of a watch that lags, of a replay (a repeat that a client requested), or skipped before. */
interface Due extends WatchedEvent, Replay {
  key: string;
  isReplay: boolean;
}

const ALL = 'all';
/** Returns the keys whose turn this comparison is: one per watch, and `ALL` if the blocks are newly final. */
const keysOf = ({ watches, left }: ToVerify<Keyed>): string[] => [...(left ? [ALL] : []), ...watches.map(keyOf)];

/**
 * Reads final blocks a second time, after the backfills and the head have read them, and corrects the stored records
 * (decision 0039). Compares one range of blocks at a time, then rests at least as long as it worked.
 */
export class VerificationPass {
  private verification: Verification;
  private stored: Verification;
  private storedAtMs = -Infinity;
  private comparedAllAtMs = -Infinity;
  private readonly size = new ChunkSize();
  /** Ids of the watches that the verification knows: all that were registered up to its `watchesUpTo` position. */
  private readonly added = new Set<string>();
  private readonly queue: FairQueue;
  private readonly refused: UnverifiableBlocks;
  /** How many RPC endpoints answered in the last comparison. */
  private endpoints = 1;

  constructor(private readonly dependencies: Dependencies) {
    const { clock, chain } = dependencies;
    this.queue = new FairQueue(clock, { ...RETRY, firstMs: Math.min(RETRY.firstMs, chain.verification.everyMs) });
    this.refused = new UnverifiableBlocks(chain.reader, clock);
    this.verification = dependencies.verifications.stored;
    this.stored = this.verification;
  }

  /** Verifies blocks until the signal aborts. Retries if providers or the read store fail. @throws any other error */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, chain } = this.dependencies;
    const { everyMs, callMs } = chain.verification;
    for (const { data } of chain.watches.between(0, this.verification.watchesUpTo)) this.added.add(data.watchId);
    let restMs = everyMs;
    for (;;) {
      await pause(Math.ceil(restMs), signal);
      if (signal.aborted) return;
      const startedMs = clock.elapsed();
      const calls = await this.step(signal);
      await this.storeNowAndThen(signal);
      const workedMs = clock.elapsed() - startedMs;
      restMs = calls === undefined ? everyMs : Math.max(calls * callMs, workedMs * this.rest());
    }
  }

  private rest(): number {
    const { writer, chain } = this.dependencies;
    const { progress } = writer;
    const isBackfilling = progress.backfills.some((range) => !range.gap && isToRead(range, progress, chain));
    return isBackfilling ? REST_WHILE_BACKFILLING : REST;
  }

  /** Compares one range with the stored records. @returns the number of RPC calls; `undefined` if nothing is due */
  private async step(signal: AbortSignal): Promise<number | undefined> {
    const { progress } = this.dependencies.writer;
    // After a crash the progress may be older than the verification: waits until it has the same watches again.
    if (progress.watchesUpTo < this.verification.watchesUpTo) return undefined;
    this.takeRegistered(progress);
    const next = this.next(progress);
    if (!next) return undefined;
    if (next.watches.length === 0) {
      this.verification = verify(this.verification, next);
      return 0;
    }
    const keys = keysOf(next);
    this.queue.begin(keys);
    try {
      const calls = await this.compare(next, signal);
      this.verification = verify(this.verification, next);
      this.queue.succeeded(keys);
      this.refused.widen(keys);
      const unverified = new Set(this.verification.skipped.map(({ watchId }) => watchId));
      for (const { id } of next.watches) if (!unverified.has(id)) this.dependencies.chain.meter.unverified.delete(id);
      const waiting = new Set([ALL, ...waitingKeys(this.verification)]);
      this.queue.keep(waiting);
      this.refused.keep(waiting);
      return calls;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof RangeTooLarge && next.from < next.to) {
        this.endpoints = 1;
        this.size.refused(next.to - next.from + 1, error.suggested);
      } else if (error instanceof BlocksRefused && next.from < next.to) {
        this.refused.narrow(keys, next.to - next.from + 1);
      } else if (
        error instanceof ChainUnavailable ||
        error instanceof RangeTooLarge ||
        error instanceof StoredUnavailable
      ) {
        await this.failed(next, error);
        await this.goOnBehind(next, error);
      } else throw error;
      return 1;
    }
  }

  /** Notes that new watches, watches that now begin earlier, and requested replays are to be verified. */
  private takeRegistered({ watchesUpTo }: ChainProgress): void {
    const { watches } = this.dependencies.chain;
    const changes = watches.between(this.verification.watchesUpTo, watchesUpTo);
    if (this.verification.watchesUpTo === 0) this.verification = { ...this.verification, verified: this.final };
    const room = BEHIND_MAX - this.verification.behind.length;
    const begun: { id: string; startBlock: number }[] = [];
    const replays: Replay[] = [];
    let upTo = watchesUpTo;
    for (const [at, change] of changes.entries()) {
      if (begun.length >= room) {
        upTo = changes[at - 1]?.position ?? this.verification.watchesUpTo;
        break;
      }
      const { type, data } = change;
      const { watchId: id } = data;
      if (type === 'WatchReplayRequested') replays.push({ watchId: id, next: data.fromBlock, to: data.toBlock });
      const isNew = type === 'ContractRegistered' && !this.added.has(id);
      if (type === 'WatchExtended' || isNew) begun.push({ id, startBlock: data.startBlock });
      this.added.add(id);
    }
    if (upTo <= this.verification.watchesUpTo) return;
    this.verification = addReplays(verifyFrom(this.verification, begun, upTo), replays);
  }

  /** Returns the blocks to compare next: newly final, of a lagging watch, of a replay, or skipped; else `undefined`. */
  private next(progress: ChainProgress): ToVerify<WatchedEvent> | undefined {
    const { chain } = this.dependencies;
    const comparesBlooms = this.endpoints === 1 && chain.reader.usesBlooms;
    const blocks = comparesBlooms ? Math.min(BLOOMS_AT_ONCE, this.size.blocks) : this.size.blocks;
    const watches = chain.watches.at(progress);
    const ranges = Map.groupBy(allRanges(progress), ({ watchId }) => watchId);
    const reach = ({ id }: { id: string }, from: number) =>
      chain.watches.now(id)?.isStopped ? from - 1 : readUpTo(ranges.get(id) ?? [], { from, final: this.final });
    this.verification = skipUnreadRanges(this.verification, watches, ranges);
    const { behind, replays, skipped, verified } = this.verification;
    const due = [
      ...behind.map((one) => ({ ...one, key: one.watchId, to: verified, isReplay: false })),
      ...replaysAndOtherSkipped(replays, skipped, ranges).map((one) => ({ ...one, isReplay: true })),
    ].flatMap((one): Due[] => {
      const watch = watches.get(one.watchId);
      const isDue =
        watch && one.next <= one.to && this.queue.waitMs(one.key) <= 0 && reach(watch, one.next) >= one.next;
      return isDue ? [{ ...watch, ...one }] : [];
    });
    const blocksOf = (key: string) => Math.min(blocks, this.refused.blocksMost(key));
    const all = this.nextOfAll(watches, { final: this.final, blocks: blocksOf(ALL), reach });
    const ready = [...(all ? [{ key: ALL, next: all.from }] : []), ...due];
    const lead = firstOf(ready, (one, other) => this.queue.compare(one.key, other.key) || one.next - other.next);
    if (!lead || !('isReplay' in lead)) return all;
    const bounds = { blocks: blocksOf(lead.key), reach };
    if (lead.isReplay) return nextOfReplay(lead, bounds);
    const others = due.filter((one) => one !== lead && !one.isReplay && this.queue.isSamePart(one.key, lead.key));
    return nextOfBehind(this.verification, lead, others, bounds);
  }

  /** Returns newly final blocks to compare; `undefined` if there are none, which is checked again after `everyMs`. */
  private nextOfAll(
    watches: ReadonlyMap<string, WatchedEvent>,
    bounds: Parameters<typeof nextOfAll>[2],
  ): ToVerify<WatchedEvent> | undefined {
    const { clock, chain } = this.dependencies;
    if (clock.elapsed() < this.comparedAllAtMs + chain.verification.everyMs) return undefined;
    const behind = new Set(this.verification.behind.map(({ watchId }) => watchId));
    const others = Array.from(watches.values()).filter(({ id }) => this.added.has(id) && !behind.has(id));
    const next = nextOfAll(this.verification, others, bounds);
    if (!next) this.comparedAllAtMs = clock.elapsed();
    return next;
  }

  /** Compares blocks with the stored records, and corrects the records. @returns the approximate number of RPC calls */
  private async compare({ from, to, watches }: ToVerify<WatchedEvent>, signal: AbortSignal): Promise<number> {
    const { chain, records, writer, storedRecords } = this.dependencies;
    const storedOf = () => {
      // The position that the read model must have reached: later events are about blocks that are not compared here.
      const position = records.newestOf(watches.map(({ contract }) => contract));
      return storedRecords.load(watches, { from, to }, position, signal);
    };
    const compared = await compareRange(chain.reader, watches, { from, to }, storedOf);
    const { missing, wrong, events, calls, endpoints } = compared;
    this.endpoints = endpoints;
    if (missing.length > 0 || wrong.length > 0) {
      await writer.commit(function* () {
        yield { wrong, observed: missing };
      });
    }
    this.report({ from, to }, compared);
    this.size.answered({ blocks: to - from + 1, events });
    return calls;
  }

  private report(blocks: { from: number; to: number }, { missing, wrong, unproven }: Compared): void {
    const { logger, chainId } = this.dependencies.chain;
    const found = { chainId, ...blocks, missing: missing.length, wrong: wrong.length, unproven };
    if (missing.length > 0 || wrong.length > 0) logger.warn(found, 'what was stored of the chain has been corrected');
    if (unproven > 0) logger.warn(found, 'the providers do not have all that is stored, and nothing proves it wrong');
  }

  /** Schedules the watches of a failed comparison for a retry, in two halves if providers and read store answer. */
  private async failed({ from, to, watches, left }: ToVerify<Keyed>, error: Error): Promise<void> {
    const { chain } = this.dependencies;
    chain.logger.warn({ chainId: chain.chainId, from, to, err: error }, 'blocks could not be verified');
    const isTheirFault =
      !(error instanceof StoredUnavailable) && watches.length > 1 && (await isAnswering(chain.reader));
    if (left && this.verification.behind.length + watches.length <= BEHIND_MAX) {
      this.verification = leaveBehind(this.verification, watches);
    }
    this.queue.failed(watches.map(keyOf), isTheirFault);
    for (const watch of watches) {
      if (this.queue.failures(keyOf(watch)) <= FAILURES_OF_MOMENTS) continue;
      chain.meter.unverified.set(watch.id, `its blocks from ${String(from)} on cannot be verified: ${textOf(error)}`);
    }
  }

  /** Skips blocks that all providers refuse for good, so that later blocks are verified. */
  private async goOnBehind(next: ToVerify<WatchedEvent>, error: Error): Promise<void> {
    try {
      const skipped = await this.refused.skip(this.verification, next, error);
      if (!skipped) return;
      this.verification = skipped;
      this.queue.succeeded(keysOf(next));
    } catch (thrown) {
      if (!(thrown instanceof ChainUnavailable)) throw thrown;
    }
  }

  private get final(): number {
    return this.dependencies.writer.progress.window[0].number;
  }

  private async storeNowAndThen(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { verification, dependencies } = this;
    const { clock, chain, verifications } = dependencies;
    const everyMs =
      Math.min(STORE_EVERY_MS, chain.verification.everyMs) * Math.max(1, verification.behind.length / MANY_BEHIND);
    if (verification === this.stored || this.added.size === 0 || clock.elapsed() < this.storedAtMs + everyMs) return;
    this.storedAtMs = clock.elapsed();
    this.stored = verification;
    await verifications.append(verification);
  }
}

const textOf = (error: Error): string => (error instanceof StoredUnavailable ? error.message : withRemedy(error));
