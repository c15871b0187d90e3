import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { pino } from 'pino';
import { CannotStart } from '../../errors/cannot-start.ts';
import { anEvent } from '../../testing/event-builder.ts';
import {
  EventStoreServer,
  type EventStoreServerOptions,
} from '../../testing/event-store-server/event-store-server.esdb.ts';
import { connectForTests } from '../../testing/event-store-server/test-store.esdb.ts';
import { testCertificate } from '../../testing/event-store-server/test-certificate.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { readTarget } from './connection-check.esdb.ts';
import { EsdbEventStore } from './event-store.esdb.ts';

const PASSWORD = 'open-sesame';
/** Enough for a first attempt on a slow machine: its failure is what the refusal says. */
const FAILS_ONCE = { startMs: 9_000 };
const certificateFile = join(temporaryFolder(), 'ca.pem');
writeFileSync(certificateFile, testCertificate.certificate);

const secure = `tls=true&tlsCAFile=${encodeURIComponent(certificateFile)}`;

const closing: { close: () => unknown }[] = [];
const aServer = async (options: EventStoreServerOptions = {}) => {
  const server = await EventStoreServer.start(options);
  closing.push(server);
  return server;
};
afterEach(async () => {
  for (const opened of closing.splice(0)) await opened.close();
});

/** Returns the port of a server that accepts connections and never answers. */
const aMuteServer = async (): Promise<number> => {
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
  closing.push({
    close: () => {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  });
  await once(listener, 'listening');
  return (listener.address() as AddressInfo).port;
};

/** Returns the message of the refused start. */
const refused = async (url: string, limits?: Parameters<typeof connectForTests>[1]): Promise<string> => {
  const error: unknown = await connectForTests(url, limits).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CannotStart);
  const { message } = error as CannotStart;
  expect(message).toMatch(/^EVENTSTORE_URL: [^\n]*$/);
  expect(inspect(error, { depth: null })).not.toContain(PASSWORD);
  return message;
};

describe('a connection to EventStoreDB at start', () => {
  it('works with TLS, and with credentials in the URL', async () => {
    const { port } = await aServer({ tls: testCertificate, credentials: `annals:${PASSWORD}` });
    const query = `${secure}&throw_on_append_failure=false`;
    const store = await connectForTests(`esdb://annals:${PASSWORD}@localhost:${String(port)}?${query}`);
    await store.append('test-secure', -1, [anEvent()]);
    await expect(store.append('test-secure', -1, [anEvent()])).rejects.toMatchObject({ actual: 0 });
    await store.close();
  });

  it('warns that credentials are not sent without TLS, and does not warn when the URL has none', async () => {
    const { port } = await aServer();
    const warned: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => warned.push(line) });
    for (const credentials of [`annals:${PASSWORD}@`, '']) {
      const url = `esdb://${credentials}127.0.0.1:${String(port)}?tls=false`;
      await (await EsdbEventStore.connect({ settings: { EVENTSTORE_URL: url }, logger })).close();
    }
    expect(warned).toHaveLength(1);
    expect(warned[0]).toContain('EVENTSTORE_URL: without TLS (tls=false) its credentials are not sent');
    expect(warned[0]).not.toContain(PASSWORD);
  });

  it('works with several hosts', async () => {
    const { port } = await aServer();
    const gone = await aServer();
    await gone.close();
    closing.splice(closing.indexOf(gone), 1);
    const store = await connectForTests(`esdb://127.0.0.1:${String(gone.port)},127.0.0.1:${String(port)}?tls=false`);
    await store.append('test-hosts', -1, [anEvent()]);
    expect(await store.read('test-hosts')).toHaveLength(1);
    await store.close();
  });

  it('works with the address of a cluster', async () => {
    const { port } = await aServer();
    const store = await connectForTests(`esdb+discover://127.0.0.1:${String(port)}/?TLS=false`);
    await store.append('test-cluster', -1, [anEvent()]);
    expect(await store.read('test-cluster')).toHaveLength(1);
    await store.close();
  });

  it('accepts option names in any case, values as they are, and defaults to the port of EventStoreDB', () => {
    const { hosts, isSecure, connectionString } = readTarget(
      `esdb://annals:${PASSWORD}@left.example,right.example:21/?T_L-S=false&nodePreference=Leader&connectionName=a=b+c`,
    );
    expect(hosts).toEqual(['left.example:2113', 'right.example:21']);
    expect(isSecure).toBe(false);
    expect(connectionString).toBe(
      `esdb://annals:${PASSWORD}@left.example,right.example:21?` +
        'tls=false&nodepreference=Leader&connectionname=a=b+c&throwonappendfailure=true',
    );
  });

  it('waits for a server that is starting', async () => {
    const server = await aServer();
    const restarted = server.restart(1_000);
    const store = await connectForTests(server.url);
    await restarted;
    await store.close();
  });

  it('is refused when no EventStoreDB answers in time, or when the TLS setting does not match', async () => {
    const mute = await aMuteServer();
    const gone = await aServer();
    await gone.close();
    closing.splice(closing.indexOf(gone), 1);
    const [open, tls] = [await aServer(), await aServer({ tls: testCertificate })];
    const follower = await aServer();
    follower.faults.leader = { host: '127.0.0.1', port: gone.port };
    const [nothing, silence, noTls, onlyTls, untrusted, leaderless] = await Promise.all([
      refused(`esdb://annals:${PASSWORD}@127.0.0.1:${String(gone.port)}?tls=false`, { startMs: 500 }),
      refused(`esdb://127.0.0.1:${String(mute)}?tls=false`, { startMs: 500 }),
      refused(`esdb://localhost:${String(open.port)}?tls=true`, FAILS_ONCE),
      refused(`esdb://127.0.0.1:${String(tls.port)}?tls=false`, FAILS_ONCE),
      refused(`esdb://localhost:${String(tls.port)}?tls=true`, FAILS_ONCE),
      refused(follower.url, FAILS_ONCE),
    ]);
    expect(nothing).toBe(`EVENTSTORE_URL: nothing answers at 127.0.0.1:${String(gone.port)}`);
    expect(silence).toMatch(/is not an EventStoreDB that speaks without TLS \(tls=false\): it does not answer$/);
    expect(noTls).toContain('is not an EventStoreDB that speaks with TLS (tls=true)');
    expect(onlyTls).toContain('is not an EventStoreDB that speaks without TLS (tls=false)');
    expect(untrusted).toMatch(/self-signed certificate/);
    expect(leaderless).toMatch(/names 127.0.0.1:\d+ as the leader, which does not answer$/);
  });

  it('is refused at once with wrong credentials', async () => {
    const { port } = await aServer({ tls: testCertificate, credentials: 'annals:other' });
    const at = `localhost:${String(port)}`;
    expect(await refused(`esdb://annals:${PASSWORD}@${at}?${secure}`)).toBe(
      `EVENTSTORE_URL: ${at} refuses these credentials`,
    );
  });

  it('is refused for a URL that the client cannot read, without printing the URL', async () => {
    const warn = jest.spyOn(console, 'warn');
    const url = `esdb://annals:${PASSWORD}@127.0.0.1:1`;
    expect(await refused(`${url}?tls=maybe`)).toContain('is not a connection string');
    expect(await refused(`${url}?tls=false?tls=true`)).toContain('is not a connection string');
    expect(await refused(`esdb://annals:${PASSWORD}/@127.0.0.1:1`)).toContain('is not a connection string');
    expect(await refused(`${url}?poolSize=5`)).toContain('unknown option: poolSize');
    for (const node of ['follower', 'random', 'read_only_replica', 'any']) {
      expect(await refused(`${url}?node_preference=${node}`)).toContain('nodePreference must be leader');
    }
    expect(await refused(`${url}?tls=true`)).toContain("TLS needs the host's name");
    expect(await refused(`${url}?tls=true&tlsCAFile=/none.pem`)).toContain('File was not found');
    expect(await refused(`${url}?tls=true&tlsCAFile=/tmp`)).toContain('illegal operation on a directory');
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });
});
