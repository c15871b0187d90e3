import { setImmediate as afterImmediates } from 'node:timers/promises';
import type { Clock } from '../../primitives/clock.ts';

interface Timer {
  atMs: number;
  /** Of two timers for the same time, the one that was set first comes first. */
  order: number;
  act: (() => void) | undefined;
}

/** Work that waits for no timer, and lets other work go first this many times. */
const GIVES_WAY_MAX = 10_000;

/** Time that passes only when nothing is left to do, and then at once. */
export class SimulatedTime implements Clock {
  /** A binary heap: each timer comes before those at 2i + 1 and 2i + 2. */
  private readonly timers: Timer[] = [];
  private order = 0;
  private elapsedMs = 0;
  private setMs = 0;

  constructor(private readonly beganAt: number) {}

  now(): number {
    return this.real() + this.setMs;
  }

  elapsed(): number {
    return this.elapsedMs;
  }

  /** A clock that nobody sets. */
  real(): number {
    return this.beganAt + this.elapsedMs;
  }

  /** Sets the clock of the machine, while no time passes. */
  jump(ms: number): void {
    this.setMs += ms;
  }

  /** @returns a function that cancels it */
  after(ms: number, act: () => void): () => void {
    const timer: Timer = { atMs: this.elapsedMs + Math.max(0, ms), order: (this.order += 1), act };
    this.add(timer);
    return () => {
      timer.act = undefined;
    };
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(ms, resolve);
    });
  }

  /** Lets time pass until the work has ended. @throws if it never would */
  async until<Result>(work: Promise<Result>): Promise<Result> {
    const state = { hasEnded: false };
    const ended = work.finally(() => {
      state.hasEnded = true;
    });
    // Awaited below, unless this throws.
    ended.catch(() => undefined);
    for (let givenWay = 0; givenWay < GIVES_WAY_MAX; givenWay += 1) {
      await afterImmediates();
      if (state.hasEnded) return ended;
      if (this.pass()) givenWay = 0;
    }
    throw new Error('everything waits, and nothing is to come');
  }

  /** Goes on to the next timer. */
  private pass(): boolean {
    let next = this.take();
    while (next && !next.act) next = this.take();
    if (!next?.act) return false;
    this.elapsedMs = next.atMs;
    next.act();
    return true;
  }

  private add(timer: Timer): void {
    const { timers } = this;
    let at = timers.length;
    timers.push(timer);
    for (let above = (at - 1) >> 1; at > 0 && isBefore(timer, timers[above]); above = (at - 1) >> 1) {
      this.swap(at, above);
      at = above;
    }
  }

  private take(): Timer | undefined {
    const { timers } = this;
    const [first] = timers;
    const last = timers.pop();
    if (!last || timers.length === 0) return last;
    timers[0] = last;
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const least = isBefore(timers[right], timers[left]) ? right : left;
      if (!isBefore(timers[least], timers[at])) return first;
      this.swap(at, least);
      at = least;
    }
  }

  private swap(at: number, other: number): void {
    const { timers } = this;
    const [one, another] = [timers[at], timers[other]];
    if (one && another) [timers[at], timers[other]] = [another, one];
  }
}

const isBefore = (one: Timer | undefined, other: Timer | undefined): boolean =>
  one !== undefined &&
  (other === undefined || one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order));
