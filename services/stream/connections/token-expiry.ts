import { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import type { Logger } from 'pino';
import { toIso, type Clock } from '../../../shared/primitives/clock.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import { sessionsModel } from '../../../shared/read-models/sessions.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { Connection } from './connection.socketio.ts';
import type { Connections } from './connections.ts';

/** The sockets of a revoked session must be closed within 2 s, projection and message included. */
const POLL_INTERVAL_MS = 500;
const WARNING_MS = 60_000;
const GRACE_MS = 25_000;
const SESSIONS_PER_QUERY = 1_000;

const session = sessionsModel.collections.session.document.pick({ revokedAt: true });

interface TokenExpiryOptions {
  connections: Connections;
  readStore: ReadStore;
  clock: Clock;
  logger: Logger;
}

/** Warns clients before their token expires; disconnects them after it expired, or when their session was revoked. */
export const tokenExpiryLoop = ({ connections, readStore, clock, logger }: TokenExpiryOptions): SupervisedLoop =>
  new SupervisedLoop('token ends', logger, async (signal, reportRunning) => {
    while (!signal.aborted) {
      disconnectExpired(connections, clock.now());
      await disconnectRevoked(connections, readStore);
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

const disconnectRevoked = async (connections: Connections, readStore: ReadStore): Promise<void> => {
  const bySession = Map.groupBy(connections, (connection: Connection) => connection.caller.sessionId);
  const ids = [...bySession.keys()];
  for (let from = 0; from < ids.length; from += SESSIONS_PER_QUERY) {
    const page = ids.slice(from, from + SESSIONS_PER_QUERY);
    for (const [id, { document }] of await readStore.getMany(sessionsModel.collections.session.name, page)) {
      if (session.parse(document).revokedAt === null) continue;
      // A client may have changed to another session during the query.
      for (const connection of bySession.get(id) ?? []) {
        if (connection.caller.sessionId === id) connection.stop('session_revoked');
      }
    }
  }
};
