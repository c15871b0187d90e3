import { appOfClaimant } from '../../../shared/chain/claimant.ts';
import { watchIdOfRecord } from '../../../shared/chain/watch-id.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { setAside, takeUp, type ChainProgress, type Transition } from '../domain/chain-progress.ts';
import type { Range } from '../domain/coverage.ts';
import type { FollowedChain } from './followed-chain.ts';
import { hasUnconfirmed, isIdle } from './ranges-to-read.ts';
import type { SyncSteps } from './store-changes/chain-writer.ts';

/** How many watches change places in one commit. */
const MOVES_MAX = 500;
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

interface Placed {
  watchId: string;
  app: string;
  ranges: readonly Range[];
  isFailing: boolean;
}

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
    const moves = new Moves(
      placed.filter((one) => !isStopped(one)).map((one) => this.placed(one)),
      chain.rangesMax,
      ({ ranges }) => !ranges.some((range) => this.known.isReading(range)) && !hasUnconfirmed(ranges, progress, chain),
    );
    const urgent = this.urgent(progress);
    for (const one of urgent.values()) moves.take(one);
    const waiting = Array.from(progress.aside)
      .filter(([id, ranges]) => !isIdle(id, ranges, progress, chain) && !urgent.has(id))
      .map((one) => this.placed(one));
    moves.giveUpSurplus();
    moves.takeFairly(waiting.filter(({ isFailing }) => !isFailing));
    const rotates = this.takeFailed(
      moves,
      waiting.filter(({ isFailing }) => isFailing),
    );
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
    return new Map(urgent.map((one) => [one[0], this.placed(one)]));
  }

  /** @returns whether some of them changed places with others that failed, too */
  private takeFailed(moves: Moves, failed: readonly Placed[]): boolean {
    let left = this.clock.elapsed() >= this.rotatesAt ? ROTATED_AT_ONCE : 0;
    const most = left;
    for (const one of failed) {
      if (!moves.hasFree) {
        if (left === 0 || !moves.giveUpFailed()) break;
        left -= 1;
      }
      moves.take(one);
    }
    return left < most;
  }

  private placed([watchId, ranges]: Entry): Placed {
    const app = appOfClaimant(this.chain.watches.now(watchId)?.claims[0] ?? '');
    return { watchId, app, ranges, isFailing: ranges.some((range) => this.known.isFailing(range)) };
  }
}

/** The watches that give up a place or take one, decided one by one. */
class Moves {
  readonly out: string[] = [];
  readonly in: string[] = [];
  private readonly byApp: Map<string, Placed[]>;
  private free: number;

  constructor(
    placed: readonly Placed[],
    rangesMax: number,
    private readonly isMovable: (one: Placed) => boolean,
  ) {
    this.byApp = Map.groupBy(placed, ({ app }) => app);
    this.free = rangesMax - placed.reduce((sum, { ranges }) => sum + ranges.length, 0);
  }

  get hasFree(): boolean {
    return this.free > 0 && this.in.length < MOVES_MAX;
  }

  take(one: Placed): void {
    this.in.push(one.watchId);
    this.free -= one.ranges.length;
    this.byApp.set(one.app, [...(this.byApp.get(one.app) ?? []), one]);
  }

  /** Those of the app that has the fewest places first, in their order, as long as there are places or somebody gives one up. */
  takeFairly(waiting: readonly Placed[]): void {
    const queues = Map.groupBy(waiting, ({ app }) => app);
    while (this.in.length < MOVES_MAX && queues.size > 0) {
      const [app, queue] = Array.from(queues).reduce((least, one) =>
        this.of(one[0]) < this.of(least[0]) ? one : least,
      );
      if (!this.hasFree && !this.giveUpFailed() && !this.giveUpMore(this.of(app) + 1)) return;
      const one = queue.shift();
      if (one) this.take(one);
      if (queue.length === 0) queues.delete(app);
    }
  }

  /** There are too many: some fell behind at the head. */
  giveUpSurplus(): void {
    while (this.free < 0 && (this.giveUpFailed() || this.giveUpMore(0)));
  }

  /** One that failed gives its place up: of the app that has the most. */
  giveUpFailed(): boolean {
    return this.giveUp(0, ({ isFailing }) => isFailing);
  }

  /** An app that has more places than so many gives one up. */
  private giveUpMore(places: number): boolean {
    return this.giveUp(places, () => true);
  }

  private giveUp(moreThan: number, isMeant: (one: Placed) => boolean): boolean {
    const most = Array.from(this.byApp).toSorted(([, left], [, right]) => right.length - left.length);
    for (const [app, placed] of most) {
      if (placed.length <= moreThan) return false;
      const at = placed.findLastIndex((one) => isMeant(one) && !this.in.includes(one.watchId) && this.isMovable(one));
      const one = placed[at];
      if (!one) continue;
      this.byApp.set(app, placed.toSpliced(at, 1));
      this.out.push(one.watchId);
      this.free += one.ranges.length;
      return true;
    }
    return false;
  }

  private of(app: string): number {
    return this.byApp.get(app)?.length ?? 0;
  }
}
