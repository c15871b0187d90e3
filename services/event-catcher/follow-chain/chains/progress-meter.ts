import type { BackfillStatus } from '../../../../schemas/announcements.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';

interface Rate {
  sinceMs: number;
  events: number;
  blocks: number;
}

/** A rate (events or blocks per second) is measured over the last one to two periods of this length. */
const PERIOD_MS = 5_000;

/**
 * Measures how fast each watch of a chain is backfilled, and keeps the errors and warnings of the chain and watches.
 */
export class ProgressMeter {
  /** Why the chain is not read at all; `null` while the chain is read. */
  chainError: string | null = null;
  /** A warning about a chain that is read; `null` if there is none. */
  chainWarning: string | null = null;
  /** How many ranges of blocks are being read, and how many could be read now but wait for their turn. */
  ranges = { reading: 0, waiting: 0 };
  /** By watch id: the reason why blocks of the watch cannot be verified. */
  readonly unverified = new Map<string, string>();
  private readonly current = new Map<string, Rate>();
  private readonly before = new Map<string, Rate>();
  private readonly errors = new Map<string, string>();
  private readonly warnings = new Map<string, string>();

  constructor(private readonly clock: Pick<Clock, 'elapsed'>) {}

  failed(watchId: string, error: string): void {
    this.errors.set(watchId, error);
  }

  /** Clears the error and the warning of a watch: blocks of the watch were read, or this process no longer reads it. */
  succeeded(watchId: string): void {
    this.errors.delete(watchId);
    this.warnings.delete(watchId);
  }

  errorOf(watchId: string): string | null {
    return this.errors.get(watchId) ?? null;
  }

  /** Sets a warning about a watch whose blocks are still read. */
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

  /**
   * Returns the rates, the error and the warning of each watch that was backfilled in the last seconds, or has an error
   * or warning. Watches for which all these are equal share an entry.
   */
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
