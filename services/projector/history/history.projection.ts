import { readModels } from '../../../schemas/read-models/catalogue.ts';
import type { HistoryDocument, HistoryHeadDocument } from '../../../schemas/read-models/history.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import type { Projection } from '../run-projection/projection.ts';

const { projection: name, collection } = readModels.history;
const heads = readModels.historyHeads.collection;
const NO_ITEM: HistoryHeadDocument = { count: 0, hash: '0'.repeat(64) };

/** Everything that happened to a user's account, each item bound to the one before it by its hash. */
export const historyProjection: Projection = {
  name,
  eventTypes: ['UserRegistered', 'IdentityLinked', 'UserLoggedIn', 'ProfileUpdated', 'SessionRevoked'],
  // Items before their head: it never counts one that is not there.
  touches: (event) => [
    { collection, id: itemId(event) },
    { collection: heads, id: userIdOf(event) },
  ],
  evolve: (event, before) => {
    const userId = userIdOf(event);
    const head = (before({ collection: heads, id: userId }) as HistoryHeadDocument | undefined) ?? NO_ITEM;
    const item = historyItem(event, userId, head);
    return [
      { collection, id: itemId(event), document: item },
      { collection: heads, id: userId, document: { count: head.count + 1, hash: item.hash } },
    ];
  },
};

const userIdOf = (event: StoredEvent): string => event.data['userId'] as string;
const itemId = (event: StoredEvent): string => `${userIdOf(event)}:${String(event.position)}`;

const historyItem = (event: StoredEvent, userId: string, head: HistoryHeadDocument): HistoryDocument => {
  const { actor, app, session, correlationId } = event.metadata;
  const hashed = {
    type: event.type,
    time: toIso(event.time),
    actor,
    app: app ?? null,
    session: session ?? null,
    requestId: correlationId,
    data: event.data,
    position: event.position,
    previous: head.hash,
  };
  return { userId, sequence: head.count, ...hashed, hash: sha256(JSON.stringify(hashed)) };
};
