import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { pause } from '../../../primitives/waiting/pause.ts';
import type { WakeUp } from '../../../primitives/waiting/wake-up.ts';
import type { EventBatch, Position } from '../../event-store.ts';

/** Report interval for progress past filtered events. The follower stores its position each time. */
const PASSED_EVERY_MS = 50;
/** While more events are on their way, collects them for this long: fewer, larger batches cost less. */
const GATHER_MS = 20;

export interface BatchSource {
  /** Rings when there may be something to read. */
  readonly changed: WakeUp;
  /** Whether more events are on their way. */
  readonly isBehind: boolean;
  /** Returns the events after the previous batch; `undefined` when this source ends. */
  read: () => EventBatch | undefined;
}

/** Yields the batches of a source until the source ends or the signal aborts. Throttles batches without events. */
export async function* pacedBatches(
  source: BatchSource,
  after: Position,
  signal: AbortSignal,
): AsyncGenerator<EventBatch> {
  let given = { position: after, caughtUp: false };
  let reportDueAt = 0;
  let alarm: NodeJS.Timeout | undefined;
  try {
    while (!signal.aborted) {
      if (source.isBehind) await pause(GATHER_MS, signal);
      const seen = source.changed.rung;
      const batch = source.read();
      if (!batch) return;
      const hasProgress = batch.position > given.position;
      const waitsMs = reportDueAt - performance.now();
      if (batch.events.length > 0 || batch.caughtUp !== given.caughtUp || (hasProgress && waitsMs <= 0)) {
        if (batch.events.length === 0) reportDueAt = performance.now() + PASSED_EVERY_MS;
        given = { position: batch.position, caughtUp: batch.caughtUp };
        yield batch;
      } else {
        if (hasProgress) {
          alarm ??= setTimeout(() => {
            alarm = undefined;
            source.changed.ring();
          }, waitsMs);
        }
        await source.changed.wait(seen, signal);
      }
      // Events that arrive later in this tick join the next batch.
      await yieldToEventLoop();
    }
  } finally {
    clearTimeout(alarm);
  }
}
