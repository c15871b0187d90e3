import type { SessionEvent } from '../../../schemas/events/session-events.ts';
import type { LoginMethod } from '../../../schemas/values.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';

/** A client whose answer was lost may use the token before the newest for this long. */
export const PREVIOUS_TOKEN_MS = 30_000;

export const sessionIdFrom = (token26: string): string => `ses_${token26}`;
export const sessionStream = (sessionId: string): string => `session-${sessionId}`;

export interface Session {
  sessionId: string;
  userId: string;
  appId: string;
  method: LoginMethod;
  startedAt: number;
  /** Of the newest tokens: how often they were rotated, their `jti`, and when they were issued. */
  counter: number;
  accessTokenId: string;
  refreshTokenId: string;
  issuedAt: number;
  /** `jti` of the refresh token that the newest replaced. */
  previousTokenId: string | undefined;
  isRevoked: boolean;
}

type State = Session | undefined;

export const sessionFold = {
  initial: undefined as State,
  evolve: (session: State, { type, data }: SessionEvent, time: number): State => {
    if (type === 'SessionStarted') {
      const { device: _, ...started } = data;
      const first = { startedAt: time, issuedAt: time, counter: 0, previousTokenId: undefined, isRevoked: false };
      return { ...started, ...first };
    }
    if (!session) return undefined;
    switch (type) {
      case 'SessionRefreshed':
        return { ...session, ...data, issuedAt: time, previousTokenId: session.refreshTokenId };
      case 'SessionRevoked':
        return { ...session, isRevoked: true };
    }
  },
};

type Start = Extract<SessionEvent, { type: 'SessionStarted' }>['data'];

/** One start per session: of two that finish the same login, the second is refused. */
export const startSession = (session: State, start: Start): SessionEvent[] => {
  if (!session) return [{ type: 'SessionStarted', data: start }];
  if (session.refreshTokenId === start.refreshTokenId) return [];
  throw new Refusal('challenge_unknown', 'the challenge was used; ask for another');
};

export interface Refresh {
  /** `jti` of the refresh token that was presented. */
  tokenId: string;
  successor: { accessTokenId: string; refreshTokenId: string };
}

/** The newest token rotates; the one before it is answered the same again for 30 s; any older one ends the session. */
export const refreshSession = (session: State, nowMs: number, { tokenId, successor }: Refresh): SessionEvent[] => {
  if (!session) throw new Refusal('refresh_token_invalid', 'its session is not known');
  if (session.isRevoked) throw new Refusal('session_revoked', 'sign in again');
  const { sessionId, userId } = session;
  if (session.refreshTokenId === tokenId) {
    return [{ type: 'SessionRefreshed', data: { sessionId, counter: session.counter + 1, ...successor } }];
  }
  const isRepeat = session.previousTokenId === tokenId && nowMs - session.issuedAt <= PREVIOUS_TOKEN_MS;
  if (isRepeat) return [];
  return [{ type: 'SessionRevoked', data: { sessionId, userId, reason: 'refresh_token_reused' } }];
};
