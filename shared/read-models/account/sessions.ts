import { z } from 'zod';
import { sessionEvents } from '../../../schemas/events/account/session-events.ts';
import { isoTime, keptLoginMethod } from '../../../schemas/values.ts';
import { toIso } from '../../primitives/clock.ts';
import { readModel } from '../read-model.ts';

/** Greater than every position: of the end of a session that has not ended. */
const NOT_ENDED = Number.MAX_SAFE_INTEGER;

const sessionDocument = z.object({
  id: z.string(),
  userId: z.string(),
  appId: z.string(),
  method: keptLoginMethod,
  /**
   * The user agent of the login. `null` once the session has ended, so that nothing of it is left when the user is
   * erased.
   */
  device: z.string().nullable(),
  createdAt: isoTime,
  lastUsedAt: isoTime,
  /** When the session was ended; its access tokens are refused since. `null` while it is live. */
  revokedAt: isoTime.nullable(),
  /** Position of its `SessionStarted`. */
  startedPosition: z.int().positive(),
  /** Position of its `SessionRevoked`; `NOT_ENDED` while there is none. */
  endedPosition: z.int().positive(),
});
export type SessionDocument = z.infer<typeof sessionDocument>;

/** Sessions, by session id. Every service checks here whether the session of an access token has ended. */
export const sessionsModel = readModel({
  name: 'sessions-v5',
  collections: {
    session: {
      name: 'sessions-v5',
      document: sessionDocument,
      indexes: [
        ['userId', 'lastUsedAt'],
        // As of an earlier time, most sessions that had ended are left out without reading their documents.
        ['userId', 'createdAt', 'startedPosition', 'endedPosition'],
      ],
    },
  },
  events: sessionEvents,
  touches: ({ data }) => ({ session: data.sessionId }),
  evolve: ({ session }, { type, data, time, position }) => {
    const at = toIso(time);
    switch (type) {
      case 'SessionStarted': {
        const { sessionId: id, userId, appId, method, device } = data;
        const live = { createdAt: at, lastUsedAt: at, revokedAt: null };
        const positions = { startedPosition: position, endedPosition: NOT_ENDED };
        return { session: { id, userId, appId, method, device, ...live, ...positions } };
      }
      case 'SessionRefreshed':
        return { session: session && { ...session, lastUsedAt: at } };
      case 'SessionRevoked':
        return { session: session && { ...session, device: null, revokedAt: at, endedPosition: position } };
    }
  },
});
