import type { Range } from '../../domain/backfill/coverage.ts';

/** The most watches that get slots, the places for unread ranges in the checkpoint, in one commit. */
const MOVES_MAX = 500;

/** A watch with its unread ranges. It has one slot for each range, or waits until it gets that many. */
export interface WatchRanges {
  watchId: string;
  app: string;
  ranges: readonly Range[];
  /** Whether the last attempt to read failed for every range of the watch that may be read now. */
  isFailing: boolean;
}

/** Decides which watches get slots, the places in the checkpoint (`in`), and which watches release theirs (`out`). */
export class SlotMoves {
  readonly out: string[] = [];
  readonly in: string[] = [];
  private byApp: Map<string, readonly WatchRanges[]>;
  private free: number;

  constructor(
    holders: readonly WatchRanges[],
    private readonly rangesMax: number,
    private readonly isMovable: (one: WatchRanges) => boolean,
  ) {
    this.byApp = Map.groupBy(holders, ({ app }) => app);
    this.free = rangesMax - holders.reduce((sum, { ranges }) => sum + ranges.length, 0);
  }

  take(one: WatchRanges): void {
    this.in.push(one.watchId);
    this.free -= one.ranges.length;
    this.byApp.set(one.app, [...(this.byApp.get(one.app) ?? []), one]);
  }

  /**
   * Gives slots to waiting watches in their order, beginning with the app that has the fewest watches with slots. Stops
   * at the first watch that does not fit even with every slot that other watches may release. Free slots then stay free
   * until they are enough for that watch.
   */
  takeFairly(waiting: readonly WatchRanges[]): void {
    const queues = Map.groupBy(waiting, ({ app }) => app);
    while (queues.size > 0) {
      const [app, queue] = Array.from(queues).reduce((least, one) =>
        this.watchCount(one[0]) < this.watchCount(least[0]) ? one : least,
      );
      const one = queue.shift();
      if (
        !one ||
        !this.takeWith(one, () => this.releaseFailed() || this.releaseOfAppWithMore(this.watchCount(app) + 1))
      )
        return;
      if (queue.length === 0) queues.delete(app);
    }
  }

  /**
   * Gives slots (places for unread ranges) to watches whose last read failed. If too few are free, at most `rotatedMost`
   * other failing watches release theirs.
   * @returns whether a watch released its slots
   */
  takeFailed(failed: readonly WatchRanges[], rotatedMost: number): boolean {
    const before = this.out.length;
    const rotate = () => this.out.length < before + rotatedMost && this.releaseFailed();
    for (const one of failed) if (!this.takeWith(one, rotate)) break;
    return this.out.length > before;
  }

  /**
   * Takes slots away while more are in use than there are, because a watch that falls behind the head gets a slot even if
   * none is free. The last watch that has slots keeps them, so that some backfill always goes on.
   */
  releaseSurplus(): void {
    const isAlone = () => Array.from(this.byApp.values()).reduce((sum, { length }) => sum + length, 0) <= 1;
    while (this.free < 0 && !isAlone() && (this.releaseFailed() || this.releaseOfAppWithMore(0)));
  }

  /**
   * Gives a watch its slots, if there are enough. @returns whether it got them
   * @param releaseOne lets another watch release its slots, and returns whether a watch did
   */
  private takeWith(one: WatchRanges, releaseOne: () => boolean): boolean {
    if (this.in.length >= MOVES_MAX) return false;
    if (!this.hasRoomFor(one) && !this.makesRoomFor(one, releaseOne)) return false;
    this.take(one);
    return true;
  }

  /**
   * Lets other watches release slots until the watch fits. If all possible releases are too few, releases nothing.
   * @returns whether the watch fits now
   */
  private makesRoomFor(one: WatchRanges, releaseOne: () => boolean): boolean {
    const { free, byApp, out } = this;
    const outBefore = out.length;
    this.byApp = new Map(byApp);
    while (!this.hasRoomFor(one)) {
      if (releaseOne()) continue;
      [this.free, this.byApp] = [free, byApp];
      out.length = outBefore;
      return false;
    }
    return true;
  }

  /**
   * Whether the free slots are enough for a watch. A watch with more ranges than there are slots gets its slots only
   * while no other watch has any.
   */
  private hasRoomFor({ ranges }: WatchRanges): boolean {
    return ranges.length <= this.free || this.free === this.rangesMax;
  }

  /**
   * Releases the slots of one failing watch, preferably of the app with most watches. @returns whether there was one
   */
  private releaseFailed(): boolean {
    return this.release(0, ({ isFailing }) => isFailing);
  }

  /**
   * Releases the slots of one watch of an app with more than `watches` watches. @returns whether there was such a watch
   */
  private releaseOfAppWithMore(watches: number): boolean {
    return this.release(watches, () => true);
  }

  private release(moreThan: number, isMeant: (one: WatchRanges) => boolean): boolean {
    const most = Array.from(this.byApp).toSorted(([, left], [, right]) => right.length - left.length);
    for (const [app, holders] of most) {
      if (holders.length <= moreThan) return false;
      const at = holders.findLastIndex((one) => isMeant(one) && !this.in.includes(one.watchId) && this.isMovable(one));
      const one = holders[at];
      if (!one) continue;
      this.byApp.set(app, holders.toSpliced(at, 1));
      this.out.push(one.watchId);
      this.free += one.ranges.length;
      return true;
    }
    return false;
  }

  private watchCount(app: string): number {
    return this.byApp.get(app)?.length ?? 0;
  }
}
