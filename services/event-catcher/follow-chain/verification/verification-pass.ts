import { BlocksRefused, ChainUnavailable, RangeTooLarge } from '../../../../shared/chain/chain-reader.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { pause } from '../../../../shared/primitives/pause.ts';
import type { ChainProgress } from '../../domain/chain-progress.ts';
import { ChunkSize } from '../../domain/chunk-size.ts';
import { allRanges, type Range } from '../../domain/coverage.ts';
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
import { isToRead } from '../ranges-to-read.ts';
import { withRemedy } from '../remedy.ts';
import type { Resumed } from '../resume.ts';
import type { WatchedEvent } from '../watched-event.ts';
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
import { VerificationQueue } from './verification-queue.ts';

/** `ChainVerified` lists the watches that are behind: with so many it has some 400 KB. Then registrations wait. */
const BEHIND_MAX = 10_000;
/** It waits for so many times as long as it has worked, and for longer while ranges are read that nobody has read yet. */
const REST = 1;
const REST_WHILE_BACKFILLING = 9;
const STORE_EVERY_MS = 1_000;
const MANY_BEHIND = 1_000;

interface Dependencies extends Resumed, Pick<FollowerDependencies, 'storedRecords'> {
  clock: Pick<Clock, 'elapsed'>;
}

/** The next blocks of a watch that is behind, or of a replay. */
interface Due extends WatchedEvent, Replay {
  key: string;
  isReplay: boolean;
}

const ALL = 'all';
/** Of those that are not behind, which have turns together. */
const keysOf = ({ watches, left }: ToVerify<Keyed>): string[] => [...(left ? [ALL] : []), ...watches.map(keyOf)];

/**
 * Reads final blocks once more, behind the backfills and the head, and corrects what is stored of them. It has one range at a
 * time, and rests as long as it works.
 */
export class VerificationPass {
  private verification: Verification;
  private stored: Verification;
  private storedAtMs = -Infinity;
  private comparedAllAtMs = -Infinity;
  private readonly size = new ChunkSize();
  /** Ids of the watches up to `watchesUpTo`. */
  private readonly added = new Set<string>();
  private readonly queue: VerificationQueue;
  private readonly refused: UnverifiableBlocks;
  /** How many answered when logs were asked for again last. */
  private endpoints = 1;

  constructor(private readonly dependencies: Dependencies) {
    const { clock, chain } = dependencies;
    this.queue = new VerificationQueue(clock, chain.verification.everyMs);
    this.refused = new UnverifiableBlocks(chain.reader, clock);
    this.verification = dependencies.verifications.stored;
    this.stored = this.verification;
  }

  /** Returns when the signal has aborted. @throws if something fails but the chain, or the read store */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, chain } = this.dependencies;
    const { everyMs, callMs } = chain.verification;
    const known = chain.watches.between(0, this.verification.watchesUpTo);
    for (const { watchId } of known) this.added.add(watchId);
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

  /** Compares one range. @returns how many calls it took; `undefined` if there is nothing to compare now */
  private async step(signal: AbortSignal): Promise<number | undefined> {
    const { progress } = this.dependencies.writer;
    // After a crash the progress may be older. Watches are added to it again, as they were.
    if (progress.watchesUpTo < this.verification.watchesUpTo) return undefined;
    this.takeRegistered(progress);
    const next = this.next(progress);
    if (!next) return undefined;
    const { watches } = next;
    if (watches.length === 0) {
      this.verification = verify(this.verification, next);
      return 0;
    }
    this.queue.begin(keysOf(next));
    try {
      const calls = await this.compare(next, signal);
      this.verification = verify(this.verification, next);
      this.queue.succeeded(keysOf(next));
      const { behind, skipped } = this.verification;
      const unverified = new Set(skipped.map(({ watchId }) => watchId));
      for (const { id } of watches) if (!unverified.has(id)) this.dependencies.chain.meter.unverified.delete(id);
      const waiting = [...behind.map(({ watchId }) => watchId), ...waitingKeys(this.verification)];
      this.queue.keep(new Set([ALL, ...waiting]));
      return calls;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof RangeTooLarge && next.from < next.to) {
        this.endpoints = 1;
        this.size.refused(next.to - next.from + 1, error.suggested);
      } else if (error instanceof BlocksRefused && next.from < next.to) {
        this.queue.refused(keysOf(next), next.to - next.from + 1);
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

  /** New watches, and those that begin earlier, are to be verified from their start blocks. */
  private takeRegistered({ watchesUpTo }: ChainProgress): void {
    const { watches } = this.dependencies.chain;
    const changes = watches.between(this.verification.watchesUpTo, watchesUpTo);
    if (this.verification.watchesUpTo === 0) this.verification = { ...this.verification, verified: this.final };
    const room = BEHIND_MAX - this.verification.behind.length;
    const begun: { id: string; startBlock: number }[] = [];
    const replays: Replay[] = [];
    let upTo = watchesUpTo;
    for (const [at, change] of changes.entries()) {
      const { watchId: id } = change;
      if (begun.length >= room) {
        upTo = changes[at - 1]?.position ?? this.verification.watchesUpTo;
        break;
      }
      if (change.kind === 'replay') replays.push({ watchId: id, next: change.fromBlock, to: change.toBlock });
      if (change.kind === 'moved' && change.isEarlier) begun.push({ id, startBlock: change.startBlock });
      if (change.kind === 'registered' && !this.added.has(id)) begun.push(change.watch);
      this.added.add(id);
    }
    if (upTo <= this.verification.watchesUpTo) return;
    this.verification = addReplays(verifyFrom(this.verification, begun, upTo), replays);
  }

  /** What is to be compared next, of what became final, of those that are behind, and of replays. */
  private next(progress: ChainProgress): ToVerify<WatchedEvent> | undefined {
    const { chain } = this.dependencies;
    const comparesBlooms = this.endpoints === 1 && chain.reader.usesBlooms;
    const blocks = comparesBlooms ? Math.min(BLOOMS_AT_ONCE, this.size.blocks) : this.size.blocks;
    const watches = chain.watches.at(progress);
    const ranges = Map.groupBy(allRanges(progress), ({ watchId }) => watchId);
    const none: Range[] = [];
    const reach = ({ id }: { id: string }, from: number) =>
      chain.watches.now(id)?.isStopped ? from - 1 : readUpTo(ranges.get(id) ?? none, { from, final: this.final });
    this.verification = skipUnreadRanges(this.verification, watches, ranges);
    const { behind, replays, skipped, verified } = this.verification;
    const due = [
      ...behind.map((one) => ({ ...one, key: one.watchId, to: verified, isReplay: false })),
      ...replaysAndOtherSkipped(replays, skipped, ranges).map((one) => ({ ...one, isReplay: true })),
    ].flatMap((one): Due[] => {
      const watch = watches.get(one.watchId);
      const isDue = watch && one.next <= one.to && this.queue.isDue(one.key) && reach(watch, one.next) >= one.next;
      return isDue ? [{ ...watch, ...one }] : [];
    });
    const blocksOf = (key: string) => Math.min(blocks, this.queue.blocksMost(key));
    const all = this.nextOfAll(watches, { final: this.final, blocks: blocksOf(ALL), reach });
    const lead = this.queue.first([...(all ? [{ key: ALL, next: all.from }] : []), ...due]);
    if (!lead || !('isReplay' in lead)) return all;
    const bounds = { blocks: blocksOf(lead.key), reach };
    if (lead.isReplay) return nextOfReplay(lead, bounds);
    const others = due.filter((one) => one !== lead && !one.isReplay && this.queue.isPartOf(one.key, lead.key));
    return nextOfBehind(this.verification, lead, others, bounds);
  }

  /** What became final since all were verified, now and then. */
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

  /** Compares a range with what is stored, and corrects that. @returns how many calls it took */
  private async compare({ from, to, watches }: ToVerify<WatchedEvent>, signal: AbortSignal): Promise<number> {
    const { chain, records, writer, storedRecords } = this.dependencies;
    const storedOf = () => {
      // Final blocks that were read are changed by nobody else.
      const position = records.newestOf(watches.map(({ contract }) => contract));
      return storedRecords.of(watches, { from, to }, position, signal);
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

  /** They are compared later: in two parts, unless no provider answers at all. */
  private async failed({ from, to, watches, left }: ToVerify<Keyed>, error: Error): Promise<void> {
    const { chain } = this.dependencies;
    chain.logger.warn({ chainId: chain.chainId, from, to, err: error }, 'blocks could not be verified');
    const isTheirFault =
      !(error instanceof StoredUnavailable) &&
      watches.length > 1 &&
      (await chain.reader.head().then(
        () => true,
        () => false,
      ));
    if (left && this.verification.behind.length + watches.length <= BEHIND_MAX) {
      this.verification = leaveBehind(this.verification, watches);
    }
    this.queue.failed(watches.map(keyOf), isTheirFault);
    for (const watch of watches) {
      if (!this.queue.standsStill(keyOf(watch))) continue;
      chain.meter.unverified.set(watch.id, `its blocks from ${String(from)} on cannot be verified: ${textOf(error)}`);
    }
  }

  /** Blocks that nobody gives any more do not hold up the verification of what follows. */
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
