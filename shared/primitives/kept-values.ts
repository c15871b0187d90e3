import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.ts';

interface Options {
  /** The least recently used are forgotten first. */
  max: number;
  keptMs: number;
}

/** Values that are known for some time, whatever the clock of the machine is set to. */
export class KeptValues<Value> {
  private readonly kept: LRUCache<string, { value: Value; until: number }>;

  constructor(
    private readonly clock: Pick<Clock, 'elapsed'>,
    private readonly options: Options,
  ) {
    // By their sizes: with a number of them, room for all is taken at once.
    this.kept = new LRUCache({ maxSize: options.max, sizeCalculation: () => 1 });
  }

  get(key: string): Value | undefined {
    const kept = this.kept.get(key);
    return kept && kept.until > this.clock.elapsed() ? kept.value : undefined;
  }

  /** @param asOf what the clock said when the value was asked for; without it now */
  set(key: string, value: Value, asOf = this.clock.elapsed()): void {
    this.kept.set(key, { value, until: asOf + this.options.keptMs });
  }

  delete(key: string): void {
    this.kept.delete(key);
  }
}

/** Returns the answer that is kept, or is awaited already; else asks for it. One that fails is not kept. */
export const keptOrAsked = <Answer>(
  kept: KeptValues<Promise<Answer>>,
  key: string,
  ask: () => Promise<Answer>,
): Promise<Answer> => {
  const known = kept.get(key);
  if (known) return known;
  const asked = ask();
  kept.set(key, asked);
  asked.catch(() => {
    kept.delete(key);
  });
  return asked;
};
