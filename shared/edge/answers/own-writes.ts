import { LRUCache } from 'lru-cache';
import type { Position } from '../../event-store/event-store.ts';
import { atMost } from '../../primitives/at-most.ts';

/** Beyond this number, the caller with the oldest write is dropped, and has to send `x-min-position`. */
const CALLERS_MAX = 50_000;
/** A read model that lags further is reported by other means. */
const KEPT_MS = 3_600_000;

/**
 * The position of the newest command of each caller that this process answered. Later queries of the caller wait for
 * it.
 */
export class OwnWrites {
  private readonly positions = new LRUCache<string, Position>({ ...atMost(CALLERS_MAX), ttl: KEPT_MS });

  note(caller: string, position: Position): void {
    this.positions.set(caller, Math.max(position, this.positions.get(caller) ?? 0));
  }

  newest(caller: string): Position | undefined {
    return this.positions.get(caller);
  }
}
