import type { Range } from '../domain/coverage.ts';

/** How many watches change places in one commit. */
const MOVES_MAX = 500;

/** A watch that has a place for each of its ranges, or waits for them. */
export interface Placed {
  watchId: string;
  app: string;
  ranges: readonly Range[];
  /** Whether none of them is to be read but those that could not be last time. */
  isFailing: boolean;
}

/** The watches that give up their places or take some, decided one by one. */
export class PlaceMoves {
  readonly out: string[] = [];
  readonly in: string[] = [];
  private byApp: Map<string, readonly Placed[]>;
  private free: number;

  constructor(
    placed: readonly Placed[],
    private readonly rangesMax: number,
    private readonly isMovable: (one: Placed) => boolean,
  ) {
    this.byApp = Map.groupBy(placed, ({ app }) => app);
    this.free = rangesMax - placed.reduce((sum, { ranges }) => sum + ranges.length, 0);
  }

  take(one: Placed): void {
    this.in.push(one.watchId);
    this.free -= one.ranges.length;
    this.byApp.set(one.app, [...(this.byApp.get(one.app) ?? []), one]);
  }

  /**
   * Takes watches of the app that has the fewest first, in their order, as long as there are places for all ranges of the next one, or
   * others give up theirs. Places that are too few for it stay free until there are enough.
   */
  takeFairly(waiting: readonly Placed[]): void {
    const queues = Map.groupBy(waiting, ({ app }) => app);
    while (queues.size > 0) {
      const [app, queue] = Array.from(queues).reduce((least, one) =>
        this.of(one[0]) < this.of(least[0]) ? one : least,
      );
      const one = queue.shift();
      if (!one || !this.takeWith(one, () => this.giveUpFailed() || this.giveUpMore(this.of(app) + 1))) return;
      if (queue.length === 0) queues.delete(app);
    }
  }

  /**
   * Takes watches that failed into free places. So many of them get those of others that failed too.
   * @returns whether any did
   */
  takeFailed(failed: readonly Placed[], rotatedMost: number): boolean {
    let left = rotatedMost;
    for (const one of failed) {
      const rotate = () => {
        left -= 1;
        return left >= 0 && this.giveUpFailed();
      };
      if (!this.takeWith(one, rotate)) break;
    }
    return left < rotatedMost;
  }

  /** Gives up places that are too many, since some watches fell behind at the head: of all watches but the last one. */
  giveUpSurplus(): void {
    const isAlone = () => Array.from(this.byApp.values()).reduce((sum, { length }) => sum + length, 0) <= 1;
    while (this.free < 0 && !isAlone() && (this.giveUpFailed() || this.giveUpMore(0)));
  }

  /** @param giveUpOne makes another watch give up its places, and returns whether one did */
  private takeWith(one: Placed, giveUpOne: () => boolean): boolean {
    if (this.in.length >= MOVES_MAX) return false;
    if (!this.hasRoomFor(one) && !this.makesRoomFor(one, giveUpOne)) return false;
    this.take(one);
    return true;
  }

  /** Places that would be too few are not given up. */
  private makesRoomFor(one: Placed, giveUpOne: () => boolean): boolean {
    const { free, byApp, out } = this;
    const outBefore = out.length;
    this.byApp = new Map(byApp);
    while (!this.hasRoomFor(one)) {
      if (giveUpOne()) continue;
      [this.free, this.byApp] = [free, byApp];
      out.length = outBefore;
      return false;
    }
    return true;
  }

  /** One that has more ranges than there are places is read alone. */
  private hasRoomFor({ ranges }: Placed): boolean {
    return ranges.length <= this.free || this.free === this.rangesMax;
  }

  /** A watch that failed gives up its places: one of the app that has the most watches. */
  private giveUpFailed(): boolean {
    return this.giveUp(0, ({ isFailing }) => isFailing);
  }

  /** An app with more watches than so many gives up the places of one. */
  private giveUpMore(watches: number): boolean {
    return this.giveUp(watches, () => true);
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
