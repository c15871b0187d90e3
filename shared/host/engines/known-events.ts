import { resolve } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import { CannotStart } from '../../errors/cannot-start.ts';
import type { EventPlace, EventStore } from '../../event-store/event-store.ts';
import { isEmbedded, type Engines } from './engines.ts';

/**
 * Checks that the event store has the event of each checkpoint, at its place. Otherwise it is an older copy, or another
 * store: documents of lost events would be returned, and as many new events would never be read.
 * @throws CannotStart
 */
export const requireKnownEvents = async (
  { eventStore, readStore }: Pick<Engines, 'eventStore' | 'readStore'>,
  settings: Settings,
): Promise<void> => {
  const checkpoints = await readStore.checkpoints();
  const head = await eventStore.head();
  for (const [name, { position, event }] of checkpoints) {
    if (!event || (position <= head && (await isThere(eventStore, event)))) continue;
    throw new CannotStart(
      `the event store has not what the checkpoint ${name} says it had (${event.id} in ${event.stream}): it is an older copy, or another store. ` +
        `End every process, remove ${readModelsOf(settings)} and ${topicsOf(settings)}, and start again: both are rebuilt from its events`,
    );
  }
};

const isThere = async (eventStore: EventStore, { id, stream, revision, position }: EventPlace): Promise<boolean> => {
  const [found] = await eventStore.read(stream, { from: revision, limit: 1 });
  return found?.id === id && found.revision === revision && found.position === position;
};

const readModelsOf = (settings: Settings): string =>
  isEmbedded('readStore', settings)
    ? `read.db* in ${resolve(settings.DATA_DIR)}`
    : `the database ${settings.MONGO_DATABASE} of MONGO_URL`;

const topicsOf = (settings: Settings): string =>
  isEmbedded('messageBus', settings) ? `bus.db* in ${resolve(settings.DATA_DIR)}` : 'the topics of KAFKA_BROKERS';
