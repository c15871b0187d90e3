import type { AppEnds } from '../../../shared/auth/app-ends.ts';
import type { SessionEnds } from '../../../shared/auth/session-ends.ts';
import { pollLoop } from '../../../shared/loops/poll-loop.ts';
import type { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import type { Logger } from 'pino';
import { toIso, type Clock } from '../../../shared/primitives/clock.ts';
import type { Connection, Connections } from './connections.ts';

/** The sockets of a revoked session, app or server key must be closed within 2 s, projection and message included. */
const POLL_INTERVAL_MS = 500;
const WARNING_MS = 60_000;
const GRACE_MS = 25_000;

interface TokenExpiryOptions {
  connections: Connections;
  sessions: SessionEnds;
  apps: AppEnds;
  clock: Clock;
  logger: Logger;
}

/**
 * Warns clients before their token expires. Disconnects them after it expired, or when their session, app or server key
 * was revoked.
 */
export const tokenExpiryLoop = ({ connections, sessions, apps, clock, logger }: TokenExpiryOptions): SupervisedLoop =>
  pollLoop('token ends', logger, POLL_INTERVAL_MS, async () => {
    disconnectExpired(connections, clock.now());
    await disconnectEnded(connections, 'sessionId', 'session_revoked', (ids) => sessions.endedOf(ids));
    await disconnectEnded(connections, 'appId', 'app_revoked', (ids) => apps.revokedOf(ids));
    await disconnectServerKeysRevoked(connections, apps);
  });

const disconnectExpired = (connections: Connections, nowMs: number): void => {
  for (const connection of connections) {
    if (!connection.caller) continue;
    const { expiresAtMs } = connection.caller;
    if (nowMs >= expiresAtMs + GRACE_MS) {
      connection.stop('token_expired');
    } else if (nowMs >= expiresAtMs - WARNING_MS && !connection.isWarned) {
      connection.isWarned = true;
      connection.emit('expiring', { expiresAt: toIso(expiresAtMs) });
    }
  }
};

/** @param endedOf tells which of these sessions or apps have ended */
const disconnectEnded = async (
  connections: Connections,
  member: 'sessionId' | 'appId',
  code: 'session_revoked' | 'app_revoked',
  endedOf: (ids: string[]) => Promise<Iterable<string>>,
): Promise<void> => {
  const byId = Map.groupBy(connections, ({ caller }: Connection) => caller?.[member]);
  for (const id of await endedOf([...byId.keys()].filter((id) => id !== undefined)))
    for (const connection of byId.get(id) ?? [])
      // A client may have switched to another token during the query.
      if (connection.caller?.[member] === id) connection.stop(code);
};

const disconnectServerKeysRevoked = async (connections: Connections, apps: AppEnds): Promise<void> => {
  for (const connection of connections) {
    const { caller } = connection;
    if (caller?.kind !== 'app-itself') continue;
    const isRevoked = await apps.isServerKeyRevoked({ appId: caller.appId, signer: caller.serverKey });
    // A client may have switched to another token during the query.
    if (isRevoked && connection.caller === caller) connection.stop('token_invalid');
  }
};
