import { sessionStream } from '../../../schemas/events/account/session-events.ts';
import { CATCHERS_KIND } from '../../../schemas/announcements.ts';
import { appStream } from '../../../schemas/events/account/app-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { topics } from '../../../schemas/topics.ts';
import { announcing } from '../../../shared/coordination/announcing.ts';
import type { MemoryEventStore } from '../../../shared/testing/engines/event-store.memory.ts';
import { NO_STREAM } from '../../../shared/event-store/event-store.ts';
import { MemoryMessageBus } from '../../../shared/testing/engines/message-bus.memory.ts';
import type { MessageBus } from '../../../shared/message-bus/message-bus.ts';
import { systemClock, type Clock } from '../../../shared/primitives/clock.ts';
import { appsModel } from '../../../shared/read-models/account/apps.ts';
import { sessionsModel } from '../../../shared/read-models/account/sessions.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { anEvent, storedEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { projectInto } from '../../../shared/testing/project.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { testIssuer } from '../../../shared/testing/http/test-tokens.jose.ts';
import type { StreamLimits } from '../edge/stream-limits.ts';
import { Connections } from '../connections/connections.ts';
import { startStream } from '../stream.module.ts';
import { FakeCatcher, newContract } from './fake-catcher.ts';
import { StreamClient } from './stream-client.socketio.ts';

/** Where the clients of the node find an event catcher. */
export const EVENT_URL = 'http://events.test';

interface Options {
  environment?: Record<string, string>;
  clock?: Clock;
  messageBus?: MessageBus;
  readStore?: ReadStore;
  isReadyAtStart?: boolean;
  limits?: Partial<StreamLimits>;
  /** How long a node that stops waits for requests; default: that of the service. */
  drainMs?: number;
}

/** A busy machine gets more time than clients do, but less than the answer of a request may take. */
const PATIENT = { stallGraceMs: 60_000, collectingMs: 20_000 };

/** The stream service on memory adapters, with a fake catcher and with clients. */
export const streamUnderTest = async ({
  environment = {},
  clock = systemClock,
  messageBus = new MemoryMessageBus(),
  readStore: givenReadStore,
  isReadyAtStart = true,
  limits = {},
  drainMs,
}: Options = {}) => {
  await messageBus.createTopics(Object.values(topics));
  const settings = { RATE_LIMITS: 'off', ...environment };
  const inMemory = await testFoundation({ environment: settings, clock });
  const readStore: ReadStore = givenReadStore ?? inMemory.readStore;
  const foundation = { ...inMemory, messageBus, readStore };
  const tokens = await testIssuer();
  const catcher = new FakeCatcher(messageBus, readStore, () => clock.now(), foundation.edgeKey);
  const announcement = announcing({
    ...{ kind: CATCHERS_KIND, id: 'catcher', readStore, logger: foundation.logger },
    describe: () => catcher.announcement,
  });
  announcement.start();
  const clients: StreamClient[] = [];
  const start = async () => {
    const node = await startStream(foundation, tokens.issuer, {
      eventUrl: EVENT_URL,
      limits: { ...PATIENT, ...limits },
      ...(drainMs !== undefined && { drainMs }),
    });
    foundation.processHealth.report({ stream: node });
    // Without requests, which would count as those of the clients' address.
    const isReady = async () => (await node.health()).isReady;
    if (isReadyAtStart) await eventually(isReady, 5_000, 'the node must become ready');
    return node;
  };
  let node = await start();
  const connections = () => [...node.app.get(Connections)].length;
  const close = async () => {
    for (const client of clients) client.close();
    await Promise.all([node.close(), announcement.stop()]);
  };
  return {
    foundation,
    logged: foundation.logged,
    catcher,
    tokens,
    url: () => node.url,
    connect: async (claims: Record<string, string | number> = {}) => {
      const client = await StreamClient.connect(node.url, await tokens.accessToken({ claims }));
      clients.push(client);
      return client;
    },
    registerContract: (contractAddress = newContract()): Promise<string> =>
      catcher.register(contractAddress).then(() => contractAddress),
    allowOrigin: async (origin: string) => {
      await projectInto(readStore, [appsModel], [storedEvent('AppRegistered', { origins: [origin] }, { position: 1 })]);
    },
    ...revocations(foundation),
    connections,
    /** Bytes that wait for each connection. */
    bytesUnsent: () => Array.from(node.app.get(Connections), ({ bytesUnsent }) => bytesUnsent),
    measured: () => node.measured ?? [],
    waitForConnections: (count: number) =>
      eventually(() => connections() === count, 5_000, `the node must have ${String(count)} connections`),
    stopNode: () => node.close(),
    restart: async () => {
      await node.close();
      node = await start();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
};

const revocations = ({ eventStore, readStore }: { eventStore: MemoryEventStore; readStore: ReadStore }) => ({
  revokeSession: async (id: string) => {
    const started = storedEvent('SessionStarted', { sessionId: id }, { position: 1 });
    const revoked = storedEvent('SessionRevoked', { sessionId: id }, { position: 2 });
    await projectInto(readStore, [sessionsModel], [started, revoked]);
  },
  /** As while no projection runs. */
  revokeSessionUnprojected: async (id: string) => {
    const revoked = anEvent({ type: 'SessionRevoked', data: { ...eventExamples.SessionRevoked, sessionId: id } });
    await eventStore.append(sessionStream(id), NO_STREAM, [revoked]);
  },
  revokeApp: async (appId: string) => {
    const revoked = anEvent({ type: 'AppRevoked', data: { appId } });
    await eventStore.append(appStream(appId), NO_STREAM, [revoked]);
  },
});
