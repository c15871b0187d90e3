import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.ts';
import { atMost } from './at-most.ts';

interface Options {
  /** Beyond this number, the least recently used values are dropped. */
  max: number;
  ttlMs: number;
}

/** A cache whose values expire, measured by elapsed time and so independent of changes of the machine's clock. */
export class TtlCache<Value> {
  private readonly cached: LRUCache<string, { value: Value; until: number }>;

  constructor(
    private readonly clock: Pick<Clock, 'elapsed'>,
    private readonly options: Options,
  ) {
    this.cached = new LRUCache(atMost(options.max));
  }

  get(key: string): Value | undefined {
    const found = this.cached.get(key);
    return found && found.until > this.clock.elapsed() ? found.value : undefined;
  }

  /** @param asOf elapsed time at which the value was requested; default: now */
  set(key: string, value: Value, asOf = this.clock.elapsed()): void {
    this.cached.set(key, { value, until: asOf + this.options.ttlMs });
  }

  /** Returns the cached value, or else asks for it. Its age counts from the question; `undefined` is not cached. */
  async getOrAsk<Answer extends Value | undefined>(key: string, ask: () => Promise<Answer>): Promise<Value | Answer> {
    const askedAt = this.clock.elapsed();
    const known = this.get(key);
    if (known !== undefined) return known;
    const answer = await ask();
    if (answer !== undefined) this.set(key, answer, askedAt);
    return answer;
  }

  delete(key: string): void {
    this.cached.delete(key);
  }

  clear(): void {
    this.cached.clear();
  }
}

/** Returns the cached or pending answer, or else loads it. A failure is not cached. */
export const getOrLoad = <Answer>(
  cache: TtlCache<Promise<Answer>>,
  key: string,
  load: () => Promise<Answer>,
): Promise<Answer> => {
  const known = cache.get(key);
  if (known) return known;
  const loading = load();
  cache.set(key, loading);
  loading.catch(() => {
    cache.delete(key);
  });
  return loading;
};
