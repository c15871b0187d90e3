import { BACKWARDS, END } from '@eventstore/db-client';
import { AllSubscription } from './all-subscription.esdb.ts';
import { readThrough } from '../bounded-read.esdb.ts';
import type { EventBatch, EventFilter, EventPlace, EventStore, Position } from '../../event-store.ts';
import { pacedBatches } from './paced-batches.ts';
import { isPermanent, placeOf } from '../../permanent-streams.ts';
import { Reconnecting, type Subscribing } from '../reconnecting.esdb.ts';
import type { SharedSubscription } from './shared-subscription.esdb.ts';
import { toPosition, toStored } from '../stored-form.esdb.ts';

const EVENTS_PER_READ = 1_000;
/** How many of the newest events are searched for one of a permanent stream. */
const NEWEST_LOOKED_AT = 200;

interface Following {
  subscribing: Subscribing;
  shared: SharedSubscription;
  readAll: EventStore['readAll'];
  after: Position;
  filter: EventFilter | undefined;
  signal: AbortSignal;
}

type Reached = Pick<EventBatch, 'position' | 'newestPermanent'>;

/**
 * Yields all events after a position, without end. A reader that is behind reads alone, filtered by the server, then
 * joins the subscription shared by the readers at the head. After a failure, the subscription resumes from the position
 * reached.
 */
export async function* followAll(following: Following): AsyncGenerator<EventBatch> {
  const { subscribing, shared, filter, signal } = following;
  const reconnecting = new Reconnecting(subscribing.logger);
  let reached: Reached = { position: following.after };
  while (!signal.aborted) {
    try {
      for await (const batch of catchUp({ ...following, after: reached.position })) {
        reached = { position: batch.position, newestPermanent: batch.newestPermanent ?? reached.newestPermanent };
        reconnecting.succeeded();
        if (batch.events.length > 0 || !batch.caughtUp) yield { ...batch, caughtUp: false };
      }
      for await (const batch of shared.batches(reached, filter, signal)) {
        reached = batch;
        yield batch;
      }
    } catch (error) {
      await reconnecting.failed(error, reached.position, signal);
    }
  }
}

/** Reads alone until the shared subscription covers the position. The last batch, of any size, is caught up. */
async function* catchUp(following: Following): AsyncGenerator<EventBatch> {
  const { shared, readAll, filter, signal } = following;
  let position = following.after;
  for await (const batch of readFiltered(following)) {
    position = batch.position;
    yield batch;
  }
  // The filtered read may end before the oldest event that the shared subscription holds: read on without the server's
  // filter.
  while (!signal.aborted && !shared.continues(position)) {
    const batch = await readAll(position, filter, EVENTS_PER_READ);
    position = batch.position;
    yield { ...batch, caughtUp: false };
  }
}

/** Ends once it has caught up: only a subscription without a filter reports progress past each event. */
async function* readFiltered({ subscribing, after, filter, signal }: Following): AsyncGenerator<EventBatch> {
  const { client, leadership } = subscribing;
  const subscription = new AllSubscription({ client, after, filter, leadership: leadership() });
  const wanted = filter && new Set(filter.types);
  const read = (): EventBatch => {
    const { events, position } = subscription.take();
    const last = events.findLast(({ stream }) => isPermanent(stream));
    return {
      events: wanted ? events.filter(({ type }) => wanted.has(type)) : events,
      position,
      caughtUp: subscription.isLive,
      newestPermanent: last && placeOf(last),
    };
  };
  const source = {
    changed: subscription.changed,
    read,
    get isBehind() {
      return !subscription.isLive;
    },
  };
  try {
    for await (const batch of pacedBatches(source, after, signal)) {
      if (!batch.caughtUp) yield batch;
      else {
        yield { ...batch, ...(await atHead(subscribing, batch, subscription.searchedUpTo)) };
        return;
      }
    }
  } finally {
    subscription.close();
  }
}

/**
 * Returns the position of a reader that has searched everything. It is never beyond the newest event, so that a
 * checkpoint beyond the newest event is a sign of missing events.
 */
const atHead = async ({ client, answerMs }: Subscribing, given: Reached, searchedUpTo: Position): Promise<Reached> => {
  let newestPosition: Position = 0;
  const permanent: EventPlace[] = [];
  const newest = client.readAll({
    direction: BACKWARDS,
    fromPosition: END,
    maxCount: NEWEST_LOOKED_AT,
    requiresLeader: true,
  });
  await readThrough(newest, answerMs, ({ event }) => {
    if (!event) return true;
    newestPosition ||= toPosition(event.position);
    const stored = toStored(event);
    if (stored && isPermanent(stored.stream)) permanent.push(placeOf(stored));
    return true;
  });
  const position = Math.max(given.position, Math.min(searchedUpTo, newestPosition));
  // The reader began beyond the newest event. Earlier versions stored the end of the log as a checkpoint, so this
  // proves nothing.
  if (position > newestPosition) return { position, newestPermanent: undefined };
  const found = permanent.find((place) => place.position <= position);
  return { position, newestPermanent: found ?? given.newestPermanent };
};
