import { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import type { Logger } from 'pino';
import { toIso, type Clock } from '../../../shared/primitives/clock.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import { sessionsModel } from '../../../shared/read-models/sessions.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { Connection } from './connection.socketio.ts';
import type { Connections } from './connections.ts';

/** The sockets of a revoked session are closed within 2 s: a projection, a look and a message. */
const LOOK_EVERY_MS = 500;
const WARNING_MS = 60_000;
const GRACE_MS = 25_000;
const SESSIONS_PER_LOOK = 1_000;

const session = sessionsModel.collections.session.document.pick({ revokedAt: true });

interface TokenEndsOptions {
  connections: Connections;
  readStore: ReadStore;
  clock: Clock;
  logger: Logger;
}

/** Warns clients before their token ends, and disconnects them after it, or when its session was revoked. */
export const tokenEndsLoop = ({ connections, readStore, clock, logger }: TokenEndsOptions): SupervisedLoop =>
  new SupervisedLoop('token ends', logger, async (signal, working) => {
    while (!signal.aborted) {
      endExpired(connections, clock.now());
      await endRevoked(connections, readStore);
      working();
      await pause(LOOK_EVERY_MS, signal);
    }
  });

const endExpired = (connections: Connections, nowMs: number): void => {
  for (const connection of connections) {
    const { expiresAtMs } = connection.caller;
    if (nowMs >= expiresAtMs + GRACE_MS) {
      connection.stop('token_expired');
    } else if (nowMs >= expiresAtMs - WARNING_MS && !connection.isWarned) {
      connection.isWarned = true;
      connection.tell('expiring', { expiresAt: toIso(expiresAtMs) });
    }
  }
};

const endRevoked = async (connections: Connections, readStore: ReadStore): Promise<void> => {
  const bySession = Map.groupBy(connections, (connection: Connection) => connection.caller.sessionId);
  const ids = [...bySession.keys()];
  for (let from = 0; from < ids.length; from += SESSIONS_PER_LOOK) {
    const some = ids.slice(from, from + SESSIONS_PER_LOOK);
    for (const [id, { document }] of await readStore.getMany(sessionsModel.collections.session.name, some)) {
      if (session.parse(document).revokedAt === null) continue;
      // A client may have changed over to another session while this was read.
      for (const connection of bySession.get(id) ?? []) {
        if (connection.caller.sessionId === id) connection.stop('session_revoked');
      }
    }
  }
};
