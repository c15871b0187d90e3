import { LRUCache } from 'lru-cache';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { firstIndex } from '../../../../shared/primitives/first-index.ts';
import { channelName, type Channel } from '../../domain/channel.ts';
import type { Delivery } from '../../domain/delivery.ts';
import { expiryAfter } from '../../edge/expiry.ts';
import { LimitedByKey } from '../limited-by-key.ts';

/** For so long, clients that return share what was read for others. */
const TTL_MS = 10_000;
const CHARACTERS_MAX = 16 * 1_024 * 1_024;

/** The deliveries of a range of positions, in position order. */
export interface ReadRange {
  deliveries: readonly Delivery[];
  /** Everything after the beginning of the range, up to here, is in it. */
  reached: Position;
}

interface KeptRange extends ReadRange {
  channel: string;
  after: Position;
}

/**
 * Reads ranges of a channel once for all readers whose positions lie in them (decision 0079). One range of a channel is
 * read at a time, so that a crowd with different cursors waits for the ranges of others instead of reading their own.
 */
export class SharedRanges {
  private readonly permits = new LimitedByKey(1);
  private readonly kept: LRUCache<string, KeptRange>;

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.kept = new LRUCache({
      maxSize: CHARACTERS_MAX,
      sizeCalculation: ({ deliveries }) => deliveries.reduce((sum, { json }) => sum + json.length, 1),
      ...expiryAfter(TTL_MS, clock),
    });
  }

  /**
   * Returns what follows a position in a range that has it.
   * @param read reads the range that begins after the position
   * @throws when the signal aborts before the read begins, and what `read` throws
   */
  async after(
    channel: Channel,
    after: Position,
    { signal, read }: { signal: AbortSignal; read: () => Promise<ReadRange> },
  ): Promise<ReadRange> {
    const name = channelName(channel);
    const found =
      this.find(name, after) ??
      (await this.permits.run(
        name,
        signal,
        async () => this.find(name, after) ?? this.keep(name, after, await read()),
      ));
    const first = firstIndex(found.deliveries, ({ position }) => position > after);
    return { deliveries: found.deliveries.slice(first), reached: found.reached };
  }

  private find(channel: string, position: Position): KeptRange | undefined {
    for (const [key, range] of this.kept.entries()) {
      if (range.channel === channel && range.after <= position && position < range.reached) return this.kept.get(key);
    }
    return undefined;
  }

  private keep(channel: string, after: Position, range: ReadRange): ReadRange {
    this.kept.set(`${channel} ${String(after)}`, { ...range, channel, after });
    return range;
  }
}
