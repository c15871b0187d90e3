import type { BackfillStatus } from '../../../schemas/announcements.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';

interface Rate {
  sinceMs: number;
  events: number;
  blocks: number;
}

/** A rate is measured over the last one to two periods. */
const PERIOD_MS = 5_000;

/** Measures how fast each backfill of a chain reads, and keeps the error that delays it. */
export class ProgressMeter {
  /** Why the chain is not read at all; `null` if it is. */
  chainError: string | null = null;
  /** What should be known of the chain though it is read; `null` if nothing. */
  chainWarning: string | null = null;
  /** How many ranges are read now, and how many wait for their turn. Those of stopped watches do neither. */
  ranges = { reading: 0, waiting: 0 };
  /** Why the verification of a watch stands still, by the id of the watch. */
  readonly unverified = new Map<string, string>();
  private readonly current = new Map<string, Rate>();
  private readonly before = new Map<string, Rate>();
  private readonly errors = new Map<string, string>();
  private readonly warnings = new Map<string, string>();

  constructor(private readonly clock: Pick<Clock, 'elapsed'>) {}

  failed(watchId: string, error: string): void {
    this.errors.set(watchId, error);
  }

  /** Something of it was read, or nothing is to be read here any more. */
  succeeded(watchId: string): void {
    this.errors.delete(watchId);
    this.warnings.delete(watchId);
  }

  errorOf(watchId: string): string | null {
    return this.errors.get(watchId) ?? null;
  }

  /** Says what should be known of a watch though it is read. */
  warn(watchId: string, warning: string): void {
    this.warnings.set(watchId, warning);
  }

  warningOf(watchId: string): string | null {
    return this.ownWarningOf(watchId) ?? this.chainWarning;
  }

  private ownWarningOf(watchId: string): string | undefined {
    return this.warnings.get(watchId) ?? this.unverified.get(watchId);
  }

  count(watchId: string, worked: { events: number; blocks: number }): void {
    const nowMs = this.clock.elapsed();
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
    const nowMs = this.clock.elapsed();
    const rates = [this.before.get(watchId), this.current.get(watchId)].filter(
      (rate) => rate !== undefined && nowMs - rate.sinceMs < 2 * PERIOD_MS,
    );
    const sinceMs = Math.min(nowMs - 1, ...rates.map((rate) => rate?.sinceMs ?? nowMs));
    const perSecond = (of: 'events' | 'blocks') =>
      Math.round((rates.reduce((sum, rate) => sum + (rate?.[of] ?? 0), 0) / (nowMs - sinceMs)) * 1_000);
    return { eventsPerSecond: perSecond('events'), blocksPerSecond: perSecond('blocks') };
  }

  /** Returns all watches that were read in the last seconds, or are delayed, or warned of. */
  statuses(): BackfillStatus[] {
    this.forget();
    const statuses = new Map<string, BackfillStatus>();
    const known = [this.current, this.errors, this.warnings, this.unverified].flatMap((of) => [...of.keys()]);
    for (const id of new Set(known)) {
      const status = { ...this.ratesOf(id), error: this.errorOf(id), warning: this.ownWarningOf(id) ?? null };
      const key = JSON.stringify(status);
      const same = statuses.get(key);
      if (same) same.watchIds.push(id);
      else statuses.set(key, { watchIds: [id], ...status });
    }
    return [...statuses.values()];
  }

  private forget(): void {
    const nowMs = this.clock.elapsed();
    for (const rates of [this.before, this.current]) {
      for (const [id, { sinceMs }] of rates) if (nowMs - sinceMs >= 2 * PERIOD_MS) rates.delete(id);
    }
  }
}
