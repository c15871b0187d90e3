import type { SessionEvent } from '../../../schemas/events/session-events.ts';
import type { LoginMethod } from '../../../schemas/values.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';

/** How long the previous refresh token is accepted: its client may not have received the answer with the newest one. */
export const PREVIOUS_TOKEN_MS = 30_000;

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

type State = Session | undefined;

export const sessionFold = {
  initial: undefined as State,
  evolve: (session: State, { type, data }: SessionEvent, time: number): State => {
    if (type === 'SessionStarted') {
      const { device: _device, identityId: _identityId, ...started } = data;
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

type SessionStart = Extract<SessionEvent, { type: 'SessionStarted' }>['data'];

/**
 * Starts a session once: of two requests that complete the same login, the second is refused.
 * @param used the refusal of a login that was completed before
 */
export const startSession = (session: State, start: SessionStart, used: () => Refusal): SessionEvent[] => {
  if (!session) return [{ type: 'SessionStarted', data: start }];
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
  { tokenId, successor, sinceIssuedMs = nowMs - (session?.issuedAt ?? nowMs) }: Refresh,
): SessionEvent[] => {
  if (!session) throw new Refusal('refresh_token_invalid', 'the session of this token does not exist');
  if (session.isRevoked) throw new Refusal('session_revoked', 'sign in again');
  const { sessionId, userId } = session;
  if (session.refreshTokenId === tokenId) {
    return [{ type: 'SessionRefreshed', data: { sessionId, counter: session.counter + 1, ...successor } }];
  }
  const isRepeat = session.previousTokenId === tokenId && sinceIssuedMs <= PREVIOUS_TOKEN_MS;
  if (isRepeat) return [];
  return [{ type: 'SessionRevoked', data: { sessionId, userId, reason: 'refresh_token_reused' } }];
};
