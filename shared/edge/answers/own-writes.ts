import { LRUCache } from 'lru-cache';
import type { Position } from '../event-store/event-store.ts';

/** Beyond that, the caller who wrote least recently is forgotten, and needs `x-min-position`. */
const CALLERS_MAX = 50_000;
/** A read model that is further behind says so by other means. */
const KEPT_MS = 3_600_000;

/** The position behind the newest command of each caller that this process answered: later queries of theirs wait for it. */
export class OwnWrites {
  private readonly positions = new LRUCache<string, Position>({ max: CALLERS_MAX, ttl: KEPT_MS });

  note(caller: string, position: Position): void {
    this.positions.set(caller, Math.max(position, this.positions.get(caller) ?? 0));
  }

  newest(caller: string): Position | undefined {
    return this.positions.get(caller);
  }
}
