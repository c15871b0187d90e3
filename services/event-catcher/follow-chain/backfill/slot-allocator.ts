import { appOfClaimant } from '../../../shared/chain/claimant.ts';
import { watchIdOfRecord } from '../../../shared/chain/watch-id.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { setAside, takeUp, type ChainProgress, type Transition } from '../domain/chain-progress.ts';
import type { Range } from '../domain/coverage.ts';
import type { FollowedChain } from './followed-chain.ts';
import { PlaceMoves, type Placed } from './place-moves.ts';
import { hasUnconfirmed, isIdle, isToRead } from './ranges-to-read.ts';
import type { SyncSteps } from './store-changes/chain-writer.ts';

/** Those that failed change places with others that failed, too, but seldom: each change is stored. */
const ROTATION_MS = 30_000;
const ROTATED_AT_ONCE = 10;

/** What is known of ranges from reading them. */
export interface KnownRanges {
  isReading(range: Range): boolean;
  /** Whether it could not be read last time. */
  isFailing(range: Range): boolean;
}

type Entry = readonly [watchId: string, ranges: readonly Range[]];

/**
 * Decides which ranges have a place in the progress, and which are set aside: those of stopped watches, and those that wait for
 * a place. Whoever fails gives it to one that did not fail, and no app has more places than another that waits for one.
 */
export class Places {
  private rotatesAt = 0;

  constructor(
    private readonly chain: FollowedChain,
    private readonly known: KnownRanges,
    private readonly clock: Pick<Clock, 'elapsed'>,
  ) {}

  /** Whether something is to change its place. */
  isDue(progress: ChainProgress): boolean {
    return this.moves(progress).transition !== undefined;
  }

  *give(progress: ChainProgress): SyncSteps {
    const { transition, rotates } = this.moves(progress);
    if (rotates) this.rotatesAt = this.clock.elapsed() + ROTATION_MS;
    if (transition) yield { transition };
  }

  private moves(progress: ChainProgress): { transition?: Transition; rotates: boolean } {
    const { chain } = this;
    const placed = Array.from(Map.groupBy(progress.backfills, ({ watchId }) => watchId));
    const isStopped = ([id, ranges]: Entry) => isIdle(id, ranges, progress, chain);
    const idle = placed.filter(isStopped).map(([id]) => id);
    const moves = new PlaceMoves(
      placed.filter((one) => !isStopped(one)).map((one) => this.placed(one, progress)),
      chain.rangesMax,
      ({ ranges }) => !ranges.some((range) => this.known.isReading(range)) && !hasUnconfirmed(ranges, progress, chain),
    );
    const urgent = this.urgent(progress);
    for (const one of urgent.values()) moves.take(one);
    const waiting = Array.from(progress.aside)
      .filter(([id, ranges]) => !isIdle(id, ranges, progress, chain) && !urgent.has(id))
      .map((one) => this.placed(one, progress));
    moves.giveUpSurplus();
    moves.takeFairly(waiting.filter(({ isFailing }) => !isFailing));
    const failed = waiting.filter(({ isFailing }) => isFailing);
    const rotates = moves.takeFailed(failed, this.clock.elapsed() >= this.rotatesAt ? ROTATED_AT_ONCE : 0);
    const outgoing = [...idle, ...moves.out];
    if (outgoing.length + moves.in.length === 0) return { rotates };
    return { transition: (now) => takeUp(moves.in)(setAside(outgoing)(now)), rotates };
  }

  /** Until they are read, no progress is stored: an earlier follower has stored records of them. */
  private urgent(progress: ChainProgress): ReadonlyMap<string, Placed> {
    const { watches, records } = this.chain;
    if (progress.aside.size === 0 || records.unconfirmed.length === 0) return new Map();
    const ids = new Set(records.unconfirmed.map(watchIdOfRecord));
    const urgent = Array.from(progress.aside).filter(
      ([id, ranges]) =>
        watches.now(id)?.recordIds.some((one) => ids.has(one)) && hasUnconfirmed(ranges, progress, this.chain),
    );
    return new Map(urgent.map((one) => [one[0], this.placed(one, progress)]));
  }

  private placed([watchId, ranges]: Entry, progress: ChainProgress): Placed {
    const { chain, known } = this;
    const app = appOfClaimant(chain.watches.now(watchId)?.claims[0] ?? '');
    const isFailing = !ranges.some((range) => isToRead(range, progress, chain) && !known.isFailing(range));
    return { watchId, app, ranges, isFailing };
  }
}
