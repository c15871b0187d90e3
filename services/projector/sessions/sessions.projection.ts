import type { SessionEvent } from '../../../schemas/events/session-events.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import type { SessionDocument } from '../../../schemas/read-models/sessions.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import type { Projection } from '../run-projection/projection.ts';

const { projection: name, collection } = readModels.sessions;

/** Sessions, by id: who may still use a token. */
export const sessionsProjection: Projection = {
  name,
  eventTypes: ['SessionStarted', 'SessionRefreshed', 'SessionRevoked'],
  touches: (event) => [{ collection, id: event.data['sessionId'] as string }],
  evolve: (stored, before) => {
    const event = stored as StoredEvent & SessionEvent;
    const id = event.data.sessionId;
    const document = evolveSession(before({ collection, id }) as SessionDocument | undefined, event);
    return document ? [{ collection, id, document }] : [];
  },
};

const evolveSession = (
  session: SessionDocument | undefined,
  { type, data, time }: SessionEvent & { time: number },
): SessionDocument | undefined => {
  const at = toIso(time);
  switch (type) {
    case 'SessionStarted': {
      const { sessionId: id, userId, appId, method, device } = data;
      return { id, userId, appId, method, device, createdAt: at, lastUsedAt: at, revokedAt: null };
    }
    case 'SessionRefreshed':
      return session && { ...session, lastUsedAt: at };
    case 'SessionRevoked':
      return session && { ...session, revokedAt: at };
  }
};
