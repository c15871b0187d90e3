import { BACKWARDS, END, type EventStoreDBClient } from '@eventstore/db-client';
import { AllSubscription } from './all-subscription.esdb.ts';
import { readThrough } from './bounded-read.esdb.ts';
import type { EventBatch, EventFilter, EventPlace, EventStore, Position } from './event-store.ts';
import { pacedBatches } from './paced-batches.ts';
import { isPermanent, placeOf } from './permanent-streams.ts';
import { Reconnecting, type Subscribing } from './reconnecting.esdb.ts';
import type { SharedSubscription } from './shared-subscription.esdb.ts';
import { toPosition, toStored } from './stored-form.esdb.ts';

const EVENTS_PER_READ = 1_000;
/** How many of the newest events are looked at for one that is never forgotten. */
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
 * Yields all events after a position, without end. A reader that is behind reads alone, filtered by the server, and joins
 * the subscription that the readers at the head share. When a subscription fails, it goes on from where it was.
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

/** Reads alone until the shared subscription continues. The last batch, of any size, is caught up. */
async function* catchUp(following: Following): AsyncGenerator<EventBatch> {
  const { shared, readAll, filter, signal } = following;
  let position = following.after;
  for await (const batch of readFiltered(following)) {
    position = batch.position;
    yield batch;
  }
  // What the server left out was not seen, and may end before what is held for others.
  while (!signal.aborted && !shared.continues(position)) {
    const batch = await readAll(position, filter, EVENTS_PER_READ);
    position = batch.position;
    yield { ...batch, caughtUp: false };
  }
}

/** Only a subscription without a filter reports progress past each event; so this one ends once it has caught up. */
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
        yield { ...batch, ...(await atHead(client, batch, subscription.searchedUpTo)) };
        return;
      }
    }
  } finally {
    subscription.close();
  }
}

/**
 * Returns where a reader is that has searched everything: never behind the newest event, so that a position that is says
 * that events are missing.
 */
const atHead = async (client: EventStoreDBClient, given: Reached, searchedUpTo: Position): Promise<Reached> => {
  let newestPosition: Position = 0;
  const permanent: EventPlace[] = [];
  const newest = client.readAll({
    direction: BACKWARDS,
    fromPosition: END,
    maxCount: NEWEST_LOOKED_AT,
    requiresLeader: true,
  });
  await readThrough(newest, ({ event }) => {
    if (!event) return true;
    newestPosition ||= toPosition(event.position);
    const stored = toStored(event);
    if (stored && isPermanent(stored.stream)) permanent.push(placeOf(stored));
    return true;
  });
  const position = Math.max(given.position, Math.min(searchedUpTo, newestPosition));
  // It began behind the newest event: the end of the log was once stored too, which is no sign of anything.
  if (position > newestPosition) return { position, newestPermanent: undefined };
  const found = permanent.find((place) => place.position <= position);
  return { position, newestPermanent: found ?? given.newestPermanent };
};
