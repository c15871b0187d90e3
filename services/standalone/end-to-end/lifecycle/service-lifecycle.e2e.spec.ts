import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { SqliteReadStore } from '../../../../shared/read-store/embedded/read-store.sqlite.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { EventStoreServer } from '../../../../shared/testing/event-store-server/event-store-server.esdb.ts';
import { connectForTests } from '../../../../shared/testing/event-store-server/test-store.esdb.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { serviceNames, type ServiceName } from '../../../../shared/config/services.ts';
import type { RunningProcess } from '../../../../shared/testing/processes/running-process.ts';
import { ServiceProcess } from '../../../../shared/testing/processes/running-processes.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';

const folder = temporaryFolder();
const running: ServiceProcess[] = [];
const servers: Server[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map(({ process }) => process.kill()));
  for (const server of servers.splice(0)) server.close();
});

const spawn = (name: ServiceName, settings: Record<string, string>): ServiceProcess => {
  const service = new ServiceProcess(name, settings);
  running.push(service);
  return service;
};
const start = (name: ServiceName, settings: Record<string, string>) => spawn(name, settings).ready();

/** How often a process has said that it ended everything that it started. */
const stops = ({ output }: RunningProcess): number => output.match(/^stopped$/gm)?.length ?? 0;

/** Starts a server that accepts connections and never answers. */
const silentServer = async (): Promise<{ port: number; connected: Set<Socket> }> => {
  const connected = new Set<Socket>();
  const server = createServer((socket) => connected.add(socket)).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, connected };
};

/** A process that stalls for a second takes an engine as gone for as long. */
const untilReady = (url: string): Promise<{ status: number; body: unknown }> =>
  eventually(
    async () => {
      const answer = await fetch(`${url}/health/ready`);
      const body: unknown = await answer.json();
      return answer.ok && { status: answer.status, body };
    },
    10_000,
    'it must be ready',
  );

describe('a service', () => {
  it('logs its engines, and stops once although several signals are sent', async () => {
    const DATA_DIR = join(folder, 'signals');
    const { process, metricsUrl } = await start('relay', { DATA_DIR });
    expect(process.output.match(/INFO: engines.*/g)).toEqual([expect.stringContaining(`embedded in ${DATA_DIR}`)]);
    const dependencies = { eventStore: 'up', readStore: 'up', messageBus: 'up' };
    expect(await untilReady(metricsUrl)).toEqual({
      status: 200,
      body: { status: 'ready', dependencies, working: true, caughtUp: true },
    });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGINT'] as const) process.child.kill(signal);
    expect(await process.ended()).toBe(0);
    expect(stops(process)).toBe(1);
  });

  it('keeps its files to its own user, also in a folder that others can read', async () => {
    const DATA_DIR = join(folder, 'private');
    mkdirSync(DATA_DIR, { mode: 0o755 });
    await start('account', { DATA_DIR });
    const others = readdirSync(DATA_DIR).filter((name) => (statSync(join(DATA_DIR, name)).mode & 0o077) !== 0);
    expect(others).toEqual([]);
  });

  it('starts in production without the secrets that it does not use', async () => {
    const { process } = await start('relay', {
      DATA_DIR: join(folder, 'bare'),
      NODE_ENV: 'production',
      RATE_LIMITS: '',
      MASTER_KEY: randomBytes(32).toString('base64'),
    });
    expect(await process.stop()).toBe(0);
  });

  it('stops while it waits for an engine', async () => {
    const { port, connected } = await silentServer();
    const EVENTSTORE_URL = `esdb://127.0.0.1:${String(port)}?tls=false`;
    const { process } = spawn('projector', { DATA_DIR: join(folder, 'waits'), EVENTSTORE_URL });
    await eventually(() => connected.size > 0, 20_000, 'it must ask the event store');
    expect(await process.stop()).toBe(0);
    expect(stops(process)).toBe(1);
  });

  it('ends with exit code 1 when a part does not stop within STOP_SECONDS', async () => {
    const { process, url } = await start('account', { DATA_DIR: join(folder, 'late'), STOP_SECONDS: '0.1' });
    // The service waits for longer than that for the rest of a request.
    const headers = { 'content-type': 'application/json', 'content-length': '99', expect: '100-continue' };
    const held = request(`${url}/auth/refresh`, { method: 'POST', headers });
    held.on('error', () => undefined).flushHeaders();
    await once(held, 'continue');
    expect(await process.stop()).toBe(1);
    expect(process.output).toContain('a part did not stop in time');
    expect(stops(process)).toBe(0);
  });

  it('stops with exit code 1 after an uncaught error', async () => {
    const fault = encodeURIComponent("process.once('SIGUSR2', () => setImmediate(() => { throw Error('planted') }))");
    const NODE_OPTIONS = `--import=data:text/javascript,${fault}`;
    const { process } = await start('projector', { DATA_DIR: join(folder, 'fault'), NODE_OPTIONS });
    process.child.kill('SIGUSR2');
    expect(await process.ended()).toBe(1);
    expect(process.output).toMatch(/planted[^]*^stopped$/m);
  });

  it('ends with exit code 1 when its event store comes back without its events', async () => {
    const DATA_DIR = join(folder, 'lost');
    const server = await EventStoreServer.start();
    const { process } = await start('relay', { DATA_DIR, EVENTSTORE_URL: server.url });
    const store = await connectForTests(server.url);
    await store.append(`user-${randomUUID()}`, -1, [anEvent()]);
    await store.close();
    const readStore = new SqliteReadStore(join(DATA_DIR, 'read.db'));
    const isKnown = async () => [...(await readStore.checkpoints()).values()].some(({ event }) => event !== undefined);
    await eventually(isKnown, 20_000, 'the relay must save a checkpoint');
    await readStore.close();
    const { port } = server;
    await server.close();
    const empty = await EventStoreServer.start({ port });
    expect(await process.ended()).toBe(1);
    expect(process.output).toMatch(/older copy, or another store\. Put the right one back[^]*^stopped$/m);
    await empty.close();
  });

  it('is ready while it stands by, and takes over from a process that was killed', async () => {
    const DATA_DIR = join(folder, 'two');
    const both = [await start('relay', { DATA_DIR }), await start('relay', { DATA_DIR })];
    const works = async ({ metricsUrl }: ServiceProcess) =>
      (await (await fetch(`${metricsUrl}/metrics`)).text()).includes('followed_here{checkpoint="relay-v1"} 1');
    // Usually the first one works; if it was held up for longer than its lease lasts, the second one does.
    const oneWorks = async () => {
      const areWorking = await Promise.all(both.map(works));
      return areWorking.filter(Boolean).length === 1 && areWorking.indexOf(true);
    };
    const [working] = both.splice(await eventually(oneWorks, 10_000, 'one must work, and one stand by'), 1);
    await working?.process.kill();
    const [other] = both as [ServiceProcess];
    await eventually(() => works(other), 10_000, 'the other must take over');
    expect(await untilReady(other.metricsUrl)).toMatchObject({ status: 200 });
  });
});

describe('a service that checks tokens', () => {
  it('starts before the account service, is ready once that answers, and stays ready when that is gone', async () => {
    const DATA_DIR = join(folder, 'keys');
    const first = await start('account', { DATA_DIR });
    const { url: ACCOUNT_URL } = first;
    const ACCOUNT_PORT = new URL(ACCOUNT_URL).port;
    await first.process.stop();

    const stream = spawn('stream', { DATA_DIR, ACCOUNT_URL, EVENT_URL: 'http://127.0.0.1:9', LOG_LEVEL: 'debug' });
    await eventually(() => stream.process.output.includes('listening'), 20_000, 'it must listen');
    expect(stream.process.output).not.toContain('is ready');

    const account = await start('account', { DATA_DIR, ACCOUNT_PORT });
    await stream.ready();
    await account.process.kill();
    expect(await untilReady(stream.url)).toMatchObject({
      status: 200,
      body: { signingKeys: true, dependencies: { eventStore: 'up', messageBus: 'up', readStore: 'up' } },
    });
  });
});

describe('the services', () => {
  it('stop properly when all are stopped at once, as by one Ctrl-C', async () => {
    const DATA_DIR = join(folder, 'all');
    const account = await start('account', { DATA_DIR });
    const settings = { DATA_DIR, ACCOUNT_URL: account.url, EVENT_URL: 'http://127.0.0.1:9' };
    const others = serviceNames.filter((name) => !['account', 'event-catcher', 'bundler'].includes(name));
    const all = [account, ...(await Promise.all(others.map((name) => start(name, settings))))];
    const codes = await Promise.all(all.map(({ process }) => process.stop()));
    expect(codes).toEqual(all.map(() => 0));
    expect(all.map(({ process }) => stops(process))).toEqual(all.map(() => 1));
  });
});
