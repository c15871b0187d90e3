import type { SessionEndReason, SessionEvent } from '../../../schemas/events/session-events.ts';
import type { LoginMethod } from '../../../schemas/values.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';

/** How long the previous refresh token is accepted: its client may not have received the answer with the newest one. */
export const PREVIOUS_TOKEN_MS = 30_000;
/** How long a session lives after its last refresh, and in all. */
export const SESSION_IDLE_MS = 7 * 86_400_000;
export const SESSION_LIFE_MS = 30 * 86_400_000;

export const sessionIdFrom = (token26: string): string => `ses_${token26}`;

export interface Session {
  sessionId: string;
  userId: string;
  appId: string;
  method: LoginMethod;
  startedAt: number;
  /** How often the tokens were rotated. */
  counter: number;
  /** `jti` of the newest access token. */
  accessTokenId: string;
  /** `jti` of the newest refresh token. */
  refreshTokenId: string;
  /** When the newest tokens were issued. */
  issuedAt: number;
  /** `jti` of the refresh token that the newest one replaced. */
  previousTokenId: string | undefined;
  isRevoked: boolean;
}

/** Of a login that was in flight when its user ended it: it ended before it began, and never begins. */
interface NeverStarted {
  sessionId: string;
  userId: string;
  startedAt: undefined;
  isRevoked: true;
}

type State = Session | NeverStarted | undefined;

export const isStarted = (session: State): session is Session => session?.startedAt !== undefined;

export const sessionFold = {
  initial: undefined as State,
  evolve: (session: State, { type, data }: SessionEvent, time: number): State => {
    switch (type) {
      case 'SessionStarted': {
        const { device: _device, identityId: _identityId, ...started } = data;
        const first = { startedAt: time, issuedAt: time, counter: 0, previousTokenId: undefined };
        return { ...started, ...first, isRevoked: session?.isRevoked ?? false };
      }
      case 'SessionRefreshed':
        if (!isStarted(session)) return session;
        return { ...session, ...data, issuedAt: time, previousTokenId: session.refreshTokenId };
      case 'SessionRevoked': {
        const { sessionId, userId } = data;
        if (isStarted(session)) return { ...session, isRevoked: true };
        return { sessionId, userId, startedAt: undefined, isRevoked: true };
      }
    }
  },
};

type SessionStart = Extract<SessionEvent, { type: 'SessionStarted' }>['data'];

/**
 * Starts a session once: of two requests that complete the same login, the second is refused.
 * @param used the refusal of a login that was completed before
 */
export const startSession = (session: State, start: SessionStart, used: () => Refusal): SessionEvent[] => {
  if (!session) return [{ type: 'SessionStarted', data: start }];
  if (!isStarted(session)) throw new Refusal('session_revoked', 'it was ended while it began; log in again');
  if (session.refreshTokenId === start.refreshTokenId) return [];
  throw used();
};

export interface Refresh {
  /** `jti` of the refresh token that the client sent. */
  tokenId: string;
  /** How long ago the newest tokens were issued, where that is known better than by the times of two clocks. */
  sinceIssuedMs?: number | undefined;
  successor: { accessTokenId: string; refreshTokenId: string };
}

/** The newest token is replaced by `successor`; the previous one changes nothing for 30 s; any other ends the session. */
export const refreshSession = (
  session: State,
  nowMs: number,
  { tokenId, successor, sinceIssuedMs }: Refresh,
): SessionEvent[] => {
  if (!session) throw new Refusal('refresh_token_invalid', 'the session of this token does not exist');
  if (session.isRevoked) throw new Refusal('session_revoked', 'sign in again');
  const { sessionId, userId } = session;
  if (session.refreshTokenId === tokenId) {
    return [{ type: 'SessionRefreshed', data: { sessionId, counter: session.counter + 1, ...successor } }];
  }
  const isRecent = (sinceIssuedMs ?? nowMs - session.issuedAt) <= PREVIOUS_TOKEN_MS;
  if (session.previousTokenId === tokenId && isRecent) return [];
  return [{ type: 'SessionRevoked', data: { sessionId, userId, reason: 'refresh_token_reused' } }];
};

/** Ends a session, or one that a login is about to start. One that has ended or expired stays as it is. */
export const endSession = (
  session: State,
  nowMs: number,
  end: { sessionId: string; userId: string; reason: SessionEndReason },
): SessionEvent[] => {
  if (session?.isRevoked) return [];
  // The read model keeps what is personal of an expired session until the session is revoked.
  if (session && isExpired(session, nowMs) && end.reason !== 'user_erased') return [];
  return [{ type: 'SessionRevoked', data: end }];
};

const isExpired = ({ startedAt, issuedAt }: Session, nowMs: number): boolean =>
  nowMs >= Math.min(startedAt + SESSION_LIFE_MS, issuedAt + SESSION_IDLE_MS);
