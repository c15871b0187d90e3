import { LRUCache } from 'lru-cache';
import { untilAborted } from '../primitives/waiting/until-aborted.ts';
import type { QueryBudget } from './query-budget.ts';
import { atMost } from '../primitives/at-most.ts';

/** Half-life of a caller's recorded usage. */
const HALF_LIFE_MS = 2_000;
const CALLERS_MAX = 10_000;

interface Usage {
  ms: number;
  at: number;
}

/** Recent usage per caller, of one engine or of several slots of it. */
export class CallerUsage {
  private readonly usages = new LRUCache<string, Usage>(atMost(CALLERS_MAX));

  /** Returns milliseconds. */
  recentMs(caller: string, now = performance.now()): number {
    const { ms, at } = this.usages.get(caller) ?? { ms: 0, at: now };
    return ms * 0.5 ** ((now - at) / HALF_LIFE_MS);
  }

  add(caller: string, ms: number, now = performance.now()): void {
    this.usages.set(caller, { ms: this.recentMs(caller, now) + ms, at: now });
  }
}

interface Waiting {
  budget: QueryBudget;
  begin: () => void;
}

/**
 * Limits the concurrent calls to an engine. Of the waiting calls, the next is that of the caller with the least recent
 * usage, and of one caller's calls that of the query with the least usage, so that many long queries leave room for
 * others.
 */
export class QuerySlots {
  private readonly waiting = new Set<Waiting>();
  private running = 0;

  constructor(
    private readonly atATime: number,
    private readonly usage = new CallerUsage(),
  ) {}

  /** @throws as `check` of the budget, also while the call is still running */
  async run<Answer>(budget: QueryBudget, call: () => Promise<Answer>): Promise<Answer> {
    try {
      await this.slot(budget);
      return await untilAborted(this.timed(budget, call), budget.signal);
    } catch (error) {
      budget.check();
      throw error;
    }
  }

  private async slot(budget: QueryBudget): Promise<void> {
    budget.check();
    if (this.running < this.atATime) {
      this.running += 1;
      return;
    }
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const waiting = {
      budget,
      begin: () => {
        resolve(undefined);
      },
    };
    this.waiting.add(waiting);
    try {
      await untilAborted(promise, budget.signal);
    } catch (error) {
      if (!this.waiting.delete(waiting)) this.letNext();
      throw error;
    }
  }

  private async timed<Answer>(budget: QueryBudget, call: () => Promise<Answer>): Promise<Answer> {
    const from = performance.now();
    try {
      return await call();
    } finally {
      const now = performance.now();
      budget.usedMs += now - from;
      this.usage.add(budget.caller, now - from, now);
      this.letNext();
    }
  }

  private letNext(): void {
    const next = this.nextWaiting();
    if (!next) {
      this.running -= 1;
      return;
    }
    this.waiting.delete(next);
    next.begin();
  }

  /** Returns the first call that goes first; otherwise the first of those with the least usage. */
  private nextWaiting(): Waiting | undefined {
    const now = performance.now();
    const used = ({ budget }: Waiting): number => this.usage.recentMs(budget.caller, now);
    let least: Waiting | undefined;
    for (const one of this.waiting) {
      if (one.budget.goesFirst) return one;
      const more = least ? used(one) - used(least) || one.budget.usedMs - least.budget.usedMs : -1;
      if (more < 0) least = one;
    }
    return least;
  }
}
