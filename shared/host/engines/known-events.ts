import { resolve } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import { CannotStart } from '../../errors/cannot-start.ts';
import { Refusal } from '../../errors/refusal.ts';
import type { EventPlace, EventStore } from '../../event-store/event-store.ts';
import { pollLoop } from '../../loops/poll-loop.ts';
import type { Logger } from 'pino';
import type { ReadStore } from '../../read-store/read-store.ts';
import { isEmbedded } from './engines.ts';

interface Stores {
  eventStore: Pick<EventStore, 'head' | 'read'>;
  readStore: Pick<ReadStore, 'checkpoints'>;
}

/**
 * Checks that the event store has the event of each checkpoint, at its place. Otherwise it is an older copy, or another
 * store: documents of lost events would be returned, and as many new events would never be read.
 * @throws CannotStart
 */
export const requireKnownEvents = async ({ eventStore, readStore }: Stores, settings: Settings): Promise<void> => {
  const checkpoints = await readStore.checkpoints();
  const head = await eventStore.head();
  for (const [name, { position, event }] of checkpoints) {
    if (!event || (position <= head && (await isThere(eventStore, event)))) continue;
    throw new CannotStart(
      `the event store has not what the checkpoint ${name} says it had (${event.id} in ${event.stream}): it is an older copy, or another store. ` +
        `Put the right one back; or, to go on with this one, end every process, remove ${readModelsOf(settings)} and ${topicsOf(settings)}, and start again: both are rebuilt from its events`,
    );
  }
};

const CHECK_EVERY_MS = 10_000;

interface WatchOptions {
  logger: Logger;
  /** Called at each check that does not find the events. */
  onLost: (reason: string) => void;
  /** In milliseconds, between two checks; 10,000 by default. */
  everyMs?: number;
}

/**
 * Repeats the check while the process runs: the server behind the connection may be started again with an older copy, or
 * without data. A check that gets no answer is left to the next one.
 * @returns ends the checks
 */
export const watchKnownEvents = (
  stores: Stores,
  settings: Settings,
  { logger, onLost, everyMs = CHECK_EVERY_MS }: WatchOptions,
): (() => Promise<void>) => {
  const loop = pollLoop('the check of the event store', logger, everyMs, async () => {
    try {
      await requireKnownEvents(stores, settings);
    } catch (error) {
      if (error instanceof CannotStart) onLost(error.message);
      else if (!(error instanceof Refusal && error.code === 'dependency_unavailable')) throw error;
    }
  });
  loop.start();
  return () => loop.stop();
};

const isThere = async (
  eventStore: Stores['eventStore'],
  { id, stream, revision, position }: EventPlace,
): Promise<boolean> => {
  const [found] = await eventStore.read(stream, { from: revision, limit: 1 });
  return found?.id === id && found.revision === revision && found.position === position;
};

const readModelsOf = (settings: Settings): string =>
  isEmbedded('readStore', settings)
    ? `read.db* in ${resolve(settings.DATA_DIR)}`
    : `the database ${settings.MONGO_DATABASE} of MONGO_URL`;

const topicsOf = (settings: Settings): string =>
  isEmbedded('messageBus', settings) ? `bus.db* in ${resolve(settings.DATA_DIR)}` : 'the topics of KAFKA_BROKERS';
