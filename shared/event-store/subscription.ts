import type { WakeUp } from '../primitives/waiting/wake-up.ts';
import type { EventBatch, EventFilter, EventStore, Position } from './event-store.ts';

const BATCH_EVENTS_MAX = 2_000;

/** A catch-up subscription for stores without push: reads until it is caught up, then waits for the wake-up. */
export async function* subscribeByReading(
  store: Pick<EventStore, 'readAll'>,
  after: Position,
  filter: EventFilter | undefined,
  appended: WakeUp,
  signal: AbortSignal,
): AsyncGenerator<EventBatch> {
  let position = after;
  let wasCaughtUp = false;
  while (!signal.aborted) {
    const seen = appended.rung;
    const batch = await store.readAll(position, filter, BATCH_EVENTS_MAX);
    if (batch.position > position || !wasCaughtUp) {
      yield batch;
      position = batch.position;
      wasCaughtUp = batch.caughtUp;
    } else {
      await appended.wait(seen, signal);
    }
  }
}
