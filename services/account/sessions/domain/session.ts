import type { SessionEndReason, SessionEvent } from '../../../../schemas/events/account/session-events.ts';
import type { LoginMethod } from '../../../../schemas/values.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';

/** How long the previous refresh token is accepted: its client may not have received the answer with the newest one. */
export const PREVIOUS_TOKEN_MS = 30_000;
/** The same for a client that repeats the `Idempotency-Key` with which it rotated. */
export const PREVIOUS_TOKEN_BY_KEY_MS = 86_400_000;
/**
 * Maximum replaced tokens remembered. A token that was replaced in the last 30 s is distinguished from older ones only
 * if it is among them.
 */
const RETIRED_TOKENS_MAX = 200;
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
  /** How many times the tokens were rotated. */
  counter: number;
  /** `jti` of the newest access token. */
  accessTokenId: string;
  /** `jti` of the newest refresh token. */
  refreshTokenId: string;
  /** When the newest tokens were issued. */
  issuedAt: number;
  /** Refresh tokens that were replaced, the previous one last; before it only those of the last 30 s. */
  retired: readonly RetiredToken[];
  /** Hash of the `Idempotency-Key` with which the client rotated last. */
  keyHash: string | undefined;
  isRevoked: boolean;
}

interface RetiredToken {
  /** `jti` of the token, and of the token that replaced it. */
  tokenId: string;
  replacedBy: string;
  /** Unix milliseconds. */
  replacedAt: number;
}

/** Tombstone: the session was revoked before its login completed, so it must never start. */
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
        const first = { startedAt: time, issuedAt: time, counter: 0, retired: [], keyHash: undefined };
        return { ...started, ...first, isRevoked: session?.isRevoked ?? false };
      }
      case 'SessionRefreshed':
        if (!isStarted(session)) return session;
        return { ...session, keyHash: undefined, ...data, issuedAt: time, retired: retiredAfter(session, data, time) };
      case 'SessionRevoked': {
        const { sessionId, userId } = data;
        if (isStarted(session)) return { ...session, isRevoked: true };
        return { sessionId, userId, startedAt: undefined, isRevoked: true };
      }
    }
  },
};

const retiredAfter = (
  { retired, refreshTokenId: tokenId }: Session,
  { refreshTokenId: replacedBy }: { refreshTokenId: string },
  replacedAt: number,
): RetiredToken[] => [
  ...retired.filter((token) => replacedAt - token.replacedAt <= PREVIOUS_TOKEN_MS).slice(1 - RETIRED_TOKENS_MAX),
  { tokenId, replacedBy, replacedAt },
];

type SessionStart = Extract<SessionEvent, { type: 'SessionStarted' }>['data'];

/**
 * Starts a session once: of two requests that complete the same login, the second is refused.
 * @param used the refusal of a login that was completed before
 */
export const startSession = (session: State, start: SessionStart, used: () => Refusal): SessionEvent[] => {
  if (!session) return [{ type: 'SessionStarted', data: start }];
  if (!isStarted(session)) throw new Refusal('session_revoked', 'the session was ended during its login; log in again');
  if (session.refreshTokenId === start.refreshTokenId) return [];
  throw used();
};

export interface Refresh {
  /** `jti` of the refresh token that the client sent. */
  tokenId: string;
  /** Hash of the `Idempotency-Key` of the request. */
  keyHash?: string | undefined;
  /** How long ago a refresh token was issued, if known more reliably than by comparing the times of two clocks. */
  sinceIssuedMs?: (tokenId: string) => number | undefined;
  successor: { accessTokenId: string; refreshTokenId: string };
}

/**
 * The newest token is replaced by `successor`. The previous one changes nothing for 30 s, and for a day with the key of its
 * rotation: the client is given the same successor again. Any other ends the session, unless it was replaced in the last
 * 30 s: two tabs may refresh while a third one does.
 *
 *     r0 ──── r1 ──── r2 (newest)     r2: rotates     r1: r2 again     r0: refused
 *
 * @throws Refusal refresh_token_invalid, session_revoked, refresh_token_reused
 */
export const refreshSession = (session: State, nowMs: number, refresh: Refresh): SessionEvent[] => {
  if (!session) throw new Refusal('refresh_token_invalid', 'the session of this token does not exist');
  if (session.isRevoked) throw new Refusal('session_revoked', 'sign in again');
  const { sessionId, userId } = session;
  const { tokenId, successor, keyHash } = refresh;
  if (session.refreshTokenId === tokenId) {
    const data = { sessionId, counter: session.counter + 1, ...successor, ...(keyHash !== undefined && { keyHash }) };
    return [{ type: 'SessionRefreshed', data }];
  }
  const retired = session.retired.find((token) => token.tokenId === tokenId);
  const sinceMs = retired && (refresh.sinceIssuedMs?.(retired.replacedBy) ?? nowMs - retired.replacedAt);
  if (sinceMs === undefined || !isAccepted(session, refresh, sinceMs)) {
    return [{ type: 'SessionRevoked', data: { sessionId, userId, reason: 'refresh_token_reused' } }];
  }
  if (retired?.replacedBy === session.refreshTokenId) return [];
  throw new Refusal(
    'refresh_token_reused',
    'another request has rotated it since: use the newest token, the session goes on',
  );
};

/** Whether the session continues although the token was replaced that long ago. */
const isAccepted = (session: Session, { tokenId, keyHash }: Refresh, sinceMs: number): boolean => {
  const isPrevious = session.retired.at(-1)?.tokenId === tokenId;
  const hasKey = isPrevious && keyHash !== undefined && keyHash === session.keyHash;
  return sinceMs <= (hasKey ? PREVIOUS_TOKEN_BY_KEY_MS : PREVIOUS_TOKEN_MS);
};

/** Ends a session, or one that a login is about to start. A session that has ended or expired stays as it is. */
export const endSession = (
  session: State,
  nowMs: number,
  end: { sessionId: string; userId: string; reason: SessionEndReason },
): SessionEvent[] => {
  if (session?.isRevoked) return [];
  // The read model keeps personal data of an expired session until the session is revoked.
  if (session && isExpired(session, nowMs) && end.reason !== 'user_erased') return [];
  return [{ type: 'SessionRevoked', data: end }];
};

const isExpired = ({ startedAt, issuedAt }: Session, nowMs: number): boolean =>
  nowMs >= Math.min(startedAt + SESSION_LIFE_MS, issuedAt + SESSION_IDLE_MS);
