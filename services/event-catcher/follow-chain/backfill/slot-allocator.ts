import { appOfClaimant } from '../../../../shared/chain/identifiers/claimant.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { defer, resumeDeferred, type ChainProgress, type Transition } from '../../domain/chain-progress.ts';
import type { Range } from '../../domain/backfill/coverage.ts';
import type { FollowedChain } from '../followed-chain.ts';
import { SlotMoves, type WatchRanges } from './slot-moves.ts';
import { hasUnconfirmed, isIdle, isToRead } from './ranges-to-read.ts';
import type { SyncSteps } from '../stored-changes/chain-writer.ts';

/**
 * How often failing watches that wait for slots replace failing watches with slots. Seldom, because each change is
 * stored.
 */
const ROTATION_MS = 30_000;
const ROTATED_AT_ONCE = 10;

/** What the backfills know of a range of blocks. */
export interface KnownRanges {
  isReading(range: Range): boolean;
  /** Whether the last attempt to read the range failed. */
  isFailing(range: Range): boolean;
}

type Entry = readonly [watchId: string, ranges: readonly Range[]];

/**
 * Decides which unread ranges have a slot, a place in the stored checkpoint `ChainAdvanced`. All other ranges are
 * deferred: those of stopped watches, and those that wait for a slot (decision 0046). A failing watch gives its slots
 * to a watch that does not fail. An app with more watches that have slots gives some to an app with fewer.
 */
export class SlotAllocator {
  private rotatesAt = 0;

  constructor(
    private readonly chain: FollowedChain,
    private readonly known: KnownRanges,
    private readonly clock: Pick<Clock, 'elapsed'>,
  ) {}

  /** Whether any watch is to release or to get slots. */
  isDue(progress: ChainProgress): boolean {
    return this.moves(progress).transition !== undefined;
  }

  *allocate(progress: ChainProgress): SyncSteps {
    const { transition, rotates } = this.moves(progress);
    if (rotates) this.rotatesAt = this.clock.elapsed() + ROTATION_MS;
    if (transition) yield { transition };
  }

  private moves(progress: ChainProgress): { transition?: Transition; rotates: boolean } {
    const { chain } = this;
    const holders = Array.from(Map.groupBy(progress.backfills, ({ watchId }) => watchId));
    const isStopped = ([id, ranges]: Entry) => isIdle(id, ranges, progress, chain);
    const idle = holders.filter(isStopped).map(([id]) => id);
    const moves = new SlotMoves(
      holders.filter((one) => !isStopped(one)).map((one) => this.watchRanges(one, progress)),
      chain.rangesMax,
      ({ ranges }) => !ranges.some((range) => this.known.isReading(range)) && !hasUnconfirmed(ranges, progress, chain),
    );
    const urgent = this.urgent(progress);
    for (const one of urgent.values()) moves.take(one);
    const waiting = Array.from(progress.deferred)
      .filter(([id, ranges]) => !isIdle(id, ranges, progress, chain) && !urgent.has(id))
      .map((one) => this.watchRanges(one, progress));
    moves.releaseSurplus();
    moves.takeFairly(waiting.filter(({ isFailing }) => !isFailing));
    const failed = waiting.filter(({ isFailing }) => isFailing);
    const rotates = moves.takeFailed(failed, this.clock.elapsed() >= this.rotatesAt ? ROTATED_AT_ONCE : 0);
    const outgoing = [...idle, ...moves.out];
    if (outgoing.length + moves.in.length === 0) return { rotates };
    return { transition: (now) => resumeDeferred(moves.in)(defer(outgoing)(now)), rotates };
  }

  /**
   * Returns deferred watches in whose unread blocks an earlier follower stored records after its last checkpoint. They
   * come first: no checkpoint is stored until these blocks are read again.
   */
  private urgent(progress: ChainProgress): ReadonlyMap<string, WatchRanges> {
    const { watches, records } = this.chain;
    if (progress.deferred.size === 0 || records.unconfirmed.length === 0) return new Map();
    const ids = new Set(records.unconfirmed.map(({ WatchId }) => WatchId));
    const urgent = Array.from(progress.deferred).filter(
      ([id, ranges]) => watches.now(id) !== undefined && ids.has(id) && hasUnconfirmed(ranges, progress, this.chain),
    );
    return new Map(urgent.map((one) => [one[0], this.watchRanges(one, progress)]));
  }

  private watchRanges([watchId, ranges]: Entry, progress: ChainProgress): WatchRanges {
    const { chain, known } = this;
    const app = appOfClaimant(chain.watches.now(watchId)?.claims[0] ?? '');
    const isFailing = !ranges.some((range) => isToRead(range, progress, chain) && !known.isFailing(range));
    return { watchId, app, ranges, isFailing };
  }
}
