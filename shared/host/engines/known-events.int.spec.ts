import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { loadSettings } from '../../config/load-settings.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import {
  EventStoreServer,
  type EventStoreServerOptions,
} from '../../testing/event-store-server/event-store-server.esdb.ts';
import { anEvent } from '../../testing/event-builder.ts';
import { eventually } from '../../testing/eventually.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { closeEngines, openEngines, type Engines } from './engines.ts';
import { openFoundation } from '../foundation.ts';
import { Shutdown } from '../shutdown.ts';
import { watchKnownEvents } from './known-events.ts';

const logger = pino({ level: 'silent' });
const folder = temporaryFolder();
const names = ['eventStore', 'readStore'] as const;
type Opened = Pick<Engines, (typeof names)[number]>;

const servers: EventStoreServer[] = [];
afterAll(() => Promise.all(servers.map((server) => server.close())));
const aServer = async (options?: EventStoreServerOptions): Promise<EventStoreServer> => {
  const server = await EventStoreServer.start(options);
  servers.push(server);
  return server;
};

/** A program's data, with functions to copy its event store, and to start with that copy. */
interface Kept {
  environment: Record<string, string>;
  copy: () => Promise<void>;
  withCopy: () => Record<string, string>;
}

const embedded = (): Promise<Kept> => {
  const DATA_DIR = join(folder, randomUUID());
  const copied = join(DATA_DIR, 'copy.db');
  mkdirSync(DATA_DIR);
  return Promise.resolve({
    environment: { DATA_DIR },
    copy: () => {
      cpSync(join(DATA_DIR, 'events.db'), copied);
      return Promise.resolve();
    },
    withCopy: () => {
      cpSync(copied, join(DATA_DIR, 'events.db'));
      return { DATA_DIR };
    },
  });
};

const onEventStoreDb = async (): Promise<Kept> => {
  const DATA_DIR = join(folder, randomUUID());
  const [server, copied] = [await aServer(), await aServer()];
  return {
    environment: { DATA_DIR, EVENTSTORE_URL: server.url },
    copy: () => {
      copied.replicate(server);
      return Promise.resolve();
    },
    withCopy: () => ({ DATA_DIR, EVENTSTORE_URL: copied.url }),
  };
};

const open = (environment: Record<string, string>): Promise<Opened> =>
  openEngines(loadSettings(environment).settings, logger, names);

/** Opens the stores as a process does at its start, and closes them again. */
const start = async (environment: Record<string, string>): Promise<void> => {
  const shutdown = new Shutdown(logger);
  try {
    await openFoundation({ settings: loadSettings(environment).settings, logger, shutdown }, names);
  } finally {
    await shutdown.run();
  }
};

const using = async (environment: Record<string, string>, work: (engines: Opened) => Promise<void>): Promise<void> => {
  const engines = await open(environment);
  await work(engines);
  await closeEngines(engines);
};

const appendUsers = async (eventStore: EventStore, count: number): Promise<void> => {
  for (let at = 0; at < count; at += 1) await eventStore.append(`user-${randomUUID()}`, -1, [anEvent()]);
};

/** Saves a checkpoint at the head, as a projection does; with `isNamed` false, as an earlier version did. */
const saveCheckpoint = async ({ eventStore, readStore }: Opened, isNamed = true): Promise<void> => {
  for await (const batch of eventStore.subscribeAll(0, { types: ['Other'] }, new AbortController().signal)) {
    await readStore.apply('users-v5', [], batch.position, isNamed ? batch.newestPermanent : undefined);
    if (batch.caughtUp) return;
  }
};

describe('an event store behind a running process', () => {
  /** Repeats the check every 20 ms while `work` runs. */
  const checking = async (
    work: (server: EventStoreServer, seen: { checks: number; lost: string[] }) => Promise<void>,
  ): Promise<void> => {
    const server = await aServer();
    const environment = { DATA_DIR: join(folder, randomUUID()), EVENTSTORE_URL: server.url };
    mkdirSync(environment.DATA_DIR);
    await using(environment, async (engines) => {
      await appendUsers(engines.eventStore, 3);
      await saveCheckpoint(engines);
      const seen = { checks: 0, lost: [] as string[] };
      const readStore = {
        checkpoints: () => {
          seen.checks += 1;
          return engines.readStore.checkpoints();
        },
      };
      const onLost = (reason: string) => seen.lost.push(reason);
      const options = { logger, onLost, everyMs: 20 };
      const end = watchKnownEvents(
        { eventStore: engines.eventStore, readStore },
        loadSettings(environment).settings,
        options,
      );
      await work(server, seen);
      await end();
    });
  };

  it('is reported when its server comes back without data', () =>
    checking(async (server, seen) => {
      const { port } = server;
      await server.close();
      await aServer({ port });
      await eventually(() => seen.lost.length > 0, 10_000, 'the loss must be reported');
      expect(seen.lost[0]).toMatch(
        /^the event store has not what the checkpoint users-v5 says it had .* Put the right one back; or, to go on with this one, end every process/,
      );
    }));

  it('is not reported when its server comes back with its data', () =>
    checking(async (server, seen) => {
      await server.restart();
      const before = seen.checks;
      await eventually(() => seen.checks > before + 3, 10_000, 'the checks must go on');
      expect(seen.lost).toEqual([]);
    }));
});

describe.each([
  ['embedded', embedded],
  ['on EventStoreDB', onEventStoreDb],
])('an event store %s beside read models', (_, keep) => {
  it('starts with what they were made of, however often', async () => {
    const { environment } = await keep();
    await start(environment);
    await using(environment, async (engines) => {
      await appendUsers(engines.eventStore, 3);
      await saveCheckpoint(engines);
      await appendUsers(engines.eventStore, 1);
    });
    await start(environment);
    await start(environment);
  });

  it('is refused as an older copy, and once it has grown beyond their checkpoints too', async () => {
    const { environment, copy, withCopy } = await keep();
    await using(environment, async ({ eventStore }) => appendUsers(eventStore, 2));
    await copy();
    await using(environment, async (engines) => {
      await appendUsers(engines.eventStore, 2);
      await saveCheckpoint(engines);
    });
    const older = withCopy();
    const refused = /^the event store has not what the checkpoint users-v5 .* remove read\.db\* .* bus\.db\* /;
    await expect(start(older)).rejects.toThrow(refused);
    await using(older, async ({ eventStore }) => appendUsers(eventStore, 5));
    await expect(start(older)).rejects.toThrow(refused);
  });

  it('is refused as an older copy that lacks only what is forgotten in time', async () => {
    const { environment, copy, withCopy } = await keep();
    await using(environment, async ({ eventStore }) => appendUsers(eventStore, 2));
    await copy();
    await using(environment, async (engines) => {
      await engines.eventStore.append('chain-2484', -1, [anEvent()]);
      await saveCheckpoint(engines);
    });
    await expect(start(withCopy())).rejects.toThrow(/older copy/);
  });

  it('starts when what was forgotten in time is gone', async () => {
    const { environment } = await keep();
    await using(environment, async (engines) => {
      const { eventStore } = engines;
      await appendUsers(eventStore, 1);
      await eventStore.keepNewest('chain-2484', 1);
      await eventStore.append('chain-2484', -1, [anEvent()]);
      await saveCheckpoint(engines);
      await eventStore.append('chain-2484', 0, [anEvent()]);
    });
    await start(environment);
  });

  it('starts with checkpoints that name no event, and the next names one', async () => {
    const { environment, copy, withCopy } = await keep();
    await using(environment, async (engines) => {
      await appendUsers(engines.eventStore, 1);
      await copy();
      await appendUsers(engines.eventStore, 1);
      await saveCheckpoint(engines, false);
    });
    await start(environment);
    await using(environment, (engines) => saveCheckpoint(engines));
    await start(environment);
    await expect(start(withCopy())).rejects.toThrow(/older copy/);
  });
});
