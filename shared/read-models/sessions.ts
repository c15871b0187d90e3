import { z } from 'zod';
import { sessionEvents } from '../../schemas/events/session-events.ts';
import { isoTime, loginMethod } from '../../schemas/values.ts';
import { toIso } from '../primitives/clock.ts';
import { readModel } from './read-model.ts';

const sessionDocument = z.object({
  id: z.string(),
  userId: z.string(),
  appId: z.string(),
  method: loginMethod,
  /** The user agent of the login; `null` once the session was ended, so that none is left of an erased user. */
  device: z.string().nullable(),
  createdAt: isoTime,
  lastUsedAt: isoTime,
  /** When the session was ended, since when its access tokens are refused; `null` while it is not. */
  revokedAt: isoTime.nullable(),
});

/** Sessions, by session id. Every service checks here whether the session of an access token has ended. */
export const sessionsModel = readModel({
  name: 'sessions-v3',
  collections: { session: { name: 'sessions-v3', document: sessionDocument, indexes: [['userId', 'lastUsedAt']] } },
  events: sessionEvents,
  touches: ({ data }) => ({ session: data.sessionId }),
  evolve: ({ session }, { type, data, time }) => {
    const at = toIso(time);
    switch (type) {
      case 'SessionStarted': {
        const { sessionId: id, userId, appId, method, device } = data;
        return { session: { id, userId, appId, method, device, createdAt: at, lastUsedAt: at, revokedAt: null } };
      }
      case 'SessionRefreshed':
        return { session: session && { ...session, lastUsedAt: at } };
      case 'SessionRevoked':
        return { session: session && { ...session, device: null, revokedAt: at } };
    }
  },
});
