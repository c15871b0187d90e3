import type { AppEnds } from '../../../shared/auth/app-ends.ts';
import type { SessionEnds } from '../../../shared/auth/session-ends.ts';
import { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import type { Logger } from 'pino';
import { toIso, type Clock } from '../../../shared/primitives/clock.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import type { Connection } from './connection.socketio.ts';
import type { Connections } from './connections.ts';

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

/** Warns clients before their token expires; disconnects them after it expired, or when their session, app or server key was revoked. */
export const tokenExpiryLoop = ({ connections, sessions, apps, clock, logger }: TokenExpiryOptions): SupervisedLoop =>
  new SupervisedLoop('token ends', logger, async (signal, reportRunning) => {
    while (!signal.aborted) {
      disconnectExpired(connections, clock.now());
      await disconnectRevoked(connections, sessions);
      await disconnectAppsRevoked(connections, apps);
      await disconnectServerKeysRevoked(connections, apps);
      reportRunning();
      await pause(POLL_INTERVAL_MS, signal);
    }
  });

const disconnectExpired = (connections: Connections, nowMs: number): void => {
  for (const connection of connections) {
    const { expiresAtMs } = connection.caller;
    if (nowMs >= expiresAtMs + GRACE_MS) {
      connection.stop('token_expired');
    } else if (nowMs >= expiresAtMs - WARNING_MS && !connection.isWarned) {
      connection.isWarned = true;
      connection.emit('expiring', { expiresAt: toIso(expiresAtMs) });
    }
  }
};

const disconnectRevoked = async (connections: Connections, sessions: SessionEnds): Promise<void> => {
  const bySession = Map.groupBy(connections, (connection: Connection) => connection.caller.sessionId);
  for (const id of await sessions.endedOf([...bySession.keys()])) {
    // A client may have changed to another session during the query.
    for (const connection of bySession.get(id) ?? []) {
      if (connection.caller.sessionId === id) connection.stop('session_revoked');
    }
  }
};

const disconnectAppsRevoked = async (connections: Connections, apps: AppEnds): Promise<void> => {
  const byApp = Map.groupBy(connections, (connection: Connection) => connection.caller.appId);
  for (const id of await apps.revokedOf([...byApp.keys()])) {
    for (const connection of byApp.get(id) ?? []) {
      if (connection.caller.appId === id) connection.stop('app_revoked');
    }
  }
};

const disconnectServerKeysRevoked = async (connections: Connections, apps: AppEnds): Promise<void> => {
  for (const connection of connections) {
    const { caller } = connection;
    if (caller.kind !== 'app-itself') continue;
    const isRevoked = await apps.isServerKeyRevoked({ appId: caller.appId, signer: caller.serverKey });
    // A client may have changed to another token during the query.
    if (isRevoked && connection.caller === caller) connection.stop('token_invalid');
  }
};
