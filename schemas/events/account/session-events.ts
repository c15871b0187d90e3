import { z } from 'zod';
import { loginMethod } from '../../values.ts';
import { event, type EventOf, type Held } from '../event.ts';
import { lasting, untilErased } from '../held.ts';

const session: Held = {
  purpose: 'to keep the user logged in, and to let the user see and end sessions',
  retention: lasting('when sessions of which app began and ended'),
};
const device: Held = { purpose: 'to let the user recognise a session', retention: untilErased('devices') };

export const sessionEndReason = z.enum([
  'refresh_token_reused',
  'logged_out',
  'ended_by_user',
  'ended_by_operator',
  'identity_unlinked',
  'user_erased',
]);
export type SessionEndReason = z.infer<typeof sessionEndReason>;

export const sessionStream = (sessionId: string): string => `session-${sessionId}`;

/** Stream `session-<sessionId>`. Token ids are `jti` claims, never tokens. */
export const sessionEvents = {
  SessionStarted: event(
    2,
    z.object({
      sessionId: z.string(),
      userId: z.string(),
      appId: z.string(),
      method: loginMethod,
      /** With which it began; sessions from before it was recorded have none. */
      identityId: z.string().exactOptional(),
      /** The caller's `user-agent`, cut to 200 characters. */
      device: z.string().nullable(),
      accessTokenId: z.string(),
      refreshTokenId: z.string(),
    }),
    { held: session, personal: { device }, isAudited: true },
  ),
  SessionRefreshed: event(
    1,
    z.object({
      sessionId: z.string(),
      /** `ctr` of the refresh token that this rotation issued; the first token has 0. */
      counter: z.int().positive(),
      accessTokenId: z.string(),
      refreshTokenId: z.string(),
      /** SHA-256 of the session and the `Idempotency-Key` that the client sent, if it sent one. */
      keyHash: z.string().exactOptional(),
    }),
  ),
  /** Of a session that has not started it keeps the login from starting it. */
  SessionRevoked: event(1, z.object({ sessionId: z.string(), userId: z.string(), reason: sessionEndReason }), {
    held: session,
    isAudited: true,
  }),
};
export type SessionEvent = EventOf<typeof sessionEvents>;
