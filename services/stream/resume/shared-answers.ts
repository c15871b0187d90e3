import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { untilAborted } from '../../../shared/primitives/waiting/until-aborted.ts';
import { expiryAfter } from '../edge/expiry.ts';

interface Options<Answer> {
  /** Beyond this size, the least recently used answers are dropped. */
  maxBytes: number;
  ttlMs: number;
  /** Returns an estimate of the memory of an answer, at least 1. */
  bytesOf: (answer: Answer) => number;
  clock: Pick<Clock, 'elapsed'>;
}

interface Pending<Answer> {
  answer: Promise<Answer>;
  waiting: number;
  ending: AbortController;
}

/**
 * Answers to everybody who asks the same question at about the same time, with one read: asks once, lets others wait for
 * the same answer, and keeps it for a short time. A failure is not kept. A caller that leaves only ends its own wait; a
 * read for which nobody waits any more is aborted.
 */
export class SharedAnswers<Answer extends object> {
  private readonly kept: LRUCache<string, Answer>;
  private readonly pending = new Map<string, Pending<Answer>>();

  constructor({ maxBytes, ttlMs, bytesOf, clock }: Options<Answer>) {
    this.kept = new LRUCache({ maxSize: maxBytes, sizeCalculation: bytesOf, ...expiryAfter(ttlMs, clock) });
  }

  /** @throws what `ask` throws; the reason of `signal` as soon as it aborts */
  async get(key: string, signal: AbortSignal, ask: (signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
    signal.throwIfAborted();
    const kept = this.kept.get(key);
    if (kept !== undefined) return kept;
    const pending = this.pending.get(key) ?? this.begin(key, ask);
    pending.waiting += 1;
    try {
      return await untilAborted(pending.answer, signal);
    } finally {
      pending.waiting -= 1;
      if (pending.waiting === 0) this.end(key, pending);
    }
  }

  /** Asks again the next time, e.g. because an answer turned out to be outdated. */
  forget(key: string): void {
    this.kept.delete(key);
  }

  private begin(key: string, ask: (signal: AbortSignal) => Promise<Answer>): Pending<Answer> {
    const ending = new AbortController();
    const pending = { answer: ask(ending.signal), waiting: 0, ending };
    this.pending.set(key, pending);
    pending.answer.then(
      (answer) => {
        this.kept.set(key, answer);
        this.end(key, pending);
      },
      () => {
        this.end(key, pending);
      },
    );
    return pending;
  }

  private end(key: string, pending: Pending<Answer>): void {
    if (this.pending.get(key) === pending) this.pending.delete(key);
    pending.ending.abort();
  }
}
