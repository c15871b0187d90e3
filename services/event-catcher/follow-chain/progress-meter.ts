import type { Clock } from '../../../shared/primitives/clock.ts';

interface Rate {
  sinceMs: number;
  events: number;
  blocks: number;
}

/** A rate is measured over the last one to two periods. */
const PERIOD_MS = 5_000;

/** Measures how fast each backfill reads, and keeps the error that delays it. */
export class ProgressMeter {
  private readonly current = new Map<string, Rate>();
  private readonly before = new Map<string, Rate>();
  private readonly errors = new Map<string, string>();

  constructor(private readonly clock: Clock) {}

  failed(watchId: string, error: string): void {
    this.errors.set(watchId, error);
  }

  succeeded(watchId: string): void {
    this.errors.delete(watchId);
  }

  errorOf(watchId: string): string | null {
    return this.errors.get(watchId) ?? null;
  }

  count(watchId: string, worked: { events: number; blocks: number }): void {
    const nowMs = this.clock.now();
    const rate = this.current.get(watchId) ?? { sinceMs: nowMs, events: 0, blocks: 0 };
    if (nowMs - rate.sinceMs > PERIOD_MS) {
      this.before.set(watchId, rate);
      this.current.set(watchId, { sinceMs: nowMs, ...worked });
      return;
    }
    rate.events += worked.events;
    rate.blocks += worked.blocks;
    this.current.set(watchId, rate);
  }

  ratesOf(watchId: string): { eventsPerSecond: number; blocksPerSecond: number } {
    const nowMs = this.clock.now();
    const rates = [this.before.get(watchId), this.current.get(watchId)].filter(
      (rate) => rate !== undefined && nowMs - rate.sinceMs < 2 * PERIOD_MS,
    );
    const sinceMs = Math.min(nowMs - 1, ...rates.map((rate) => rate?.sinceMs ?? nowMs));
    const perSecond = (of: 'events' | 'blocks') =>
      Math.round((rates.reduce((sum, rate) => sum + (rate?.[of] ?? 0), 0) / (nowMs - sinceMs)) * 1_000);
    return { eventsPerSecond: perSecond('events'), blocksPerSecond: perSecond('blocks') };
  }
}
