import { createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { deriveKey } from '../../keys/derive-key.ts';
import { pollLoop } from '../../loops/poll-loop.ts';
import type { SupervisedLoop } from '../../loops/supervised-loop.ts';
import type { Clock } from '../../primitives/clock.ts';
import type { Coordination } from '../../coordination/coordination.ts';
import { atMost } from '../../primitives/at-most.ts';

/**
 * How often processes exchange counts. By asking several processes, a caller gains at most what one of them admits in
 * this time.
 */
const EXCHANGE_EVERY_MS = 250;
const EXCHANGED_AT_ONCE = 1_000;
const FORGET_EVERY_MS = 60_000;

/** Points that one caller has used up of a limit. */
interface Count {
  id: string;
  windowMs: number;
  endsAt: number;
  /** Points in all processes, as the read store reported last. */
  shared: number;
  /** Points of this process: not sent to the read store yet, and being sent. */
  pending: number;
  underWay: number;
}

export interface SharedCount {
  points: number;
  endsAt: number;
}

interface SharedCountsOptions {
  readStore: Pick<Coordination, 'addPoints' | 'forgetPoints'>;
  clock: Clock;
  logger: Logger;
  edgeKey: Uint8Array;
}

/**
 * Counts what callers use up, at once and in memory, and four times a second exchanges the increments with the other
 * processes. While the read store is down, each process continues with what it knows. Ids of callers are hashed.
 */
export class SharedCounts {
  readonly loop: SupervisedLoop;
  private readonly key: Buffer;
  private readonly changed = new Set<Count>();
  private forgetAt: number;

  constructor(private readonly options: SharedCountsOptions) {
    const { clock, logger, edgeKey } = options;
    this.key = deriveKey(edgeKey, 'rate limits');
    this.forgetAt = clock.elapsed() + FORGET_EVERY_MS;
    this.loop = pollLoop('shared rate limits', logger, EXCHANGE_EVERY_MS, () => this.exchange());
  }

  /**
   * The counts of one limit. Beyond `callersMax`, the least recent caller is dropped here, but not by the read store.
   */
  countsOf(name: string, { seconds, callersMax }: { seconds: number; callersMax: number }): CallerCounts {
    return new CallerCounts(this.options.clock, seconds * 1_000, callersMax, {
      idOf: (caller) => createHmac('sha256', this.key).update(`${name}:${caller}`).digest('base64url'),
      changed: (count) => this.changed.add(count),
    });
  }

  /** Adds the increments of this process to the read store, and learns the totals. */
  async exchange(): Promise<void> {
    const { readStore, clock } = this.options;
    while (this.changed.size > 0) {
      const some = [...this.changed].slice(0, EXCHANGED_AT_ONCE);
      for (const count of some) {
        this.changed.delete(count);
        count.underWay = count.pending;
        count.pending = 0;
      }
      const nowMs = clock.now();
      const added = some.map(({ id, windowMs, underWay }) => ({ id, windowMs, points: underWay }));
      try {
        const counted = await readStore.addPoints(added, nowMs);
        for (const count of some) learn(count, counted.get(count.id), nowMs);
      } catch (error) {
        // It is unknown whether the points were stored: they may be counted twice, but are never lost.
        for (const count of some) {
          count.pending += count.underWay;
          count.underWay = 0;
          this.changed.add(count);
        }
        throw error;
      }
    }
    if (clock.elapsed() < this.forgetAt) return;
    await readStore.forgetPoints(clock.now());
    this.forgetAt = clock.elapsed() + FORGET_EVERY_MS;
  }
}

const learn = (count: Count, counted: SharedCount | undefined, nowMs: number): void => {
  count.underWay = 0;
  if (!counted) return;
  count.shared = counted.points;
  // Another process's clock may be ahead.
  count.endsAt = Math.min(counted.endsAt, nowMs + count.windowMs);
};

/** The points that the callers of one limit have used up. */
export class CallerCounts {
  private readonly counts: LRUCache<string, Count>;

  constructor(
    private readonly clock: Pick<Clock, 'now'>,
    private readonly windowMs: number,
    callersMax: number,
    private readonly to: { idOf: (caller: string) => string; changed: (count: Count) => void },
  ) {
    this.counts = new LRUCache(atMost(callersMax));
  }

  /** Adds points, unless the caller already exceeds `max`: then nothing changes, and nothing is exchanged. */
  add(caller: string, points: number, max: number): SharedCount {
    const count = this.lasting(caller) ?? this.begin(caller);
    if (used(count) <= max) {
      count.pending += points;
      this.to.changed(count);
    }
    return { points: used(count), endsAt: count.endsAt };
  }

  get(caller: string): SharedCount | undefined {
    const count = this.lasting(caller);
    return count && { points: used(count), endsAt: count.endsAt };
  }

  private lasting(caller: string): Count | undefined {
    const count = this.counts.get(caller);
    const nowMs = this.clock.now();
    // A count that ends later than a new one would was started before the clock was set back.
    return count && count.endsAt > nowMs && count.endsAt <= nowMs + this.windowMs ? count : undefined;
  }

  private begin(caller: string): Count {
    const { windowMs } = this;
    const endsAt = this.clock.now() + windowMs;
    const count = { id: this.to.idOf(caller), windowMs, endsAt, shared: 0, pending: 0, underWay: 0 };
    this.counts.set(caller, count);
    return count;
  }
}

const used = ({ shared, pending, underWay }: Count): number => shared + pending + underWay;
