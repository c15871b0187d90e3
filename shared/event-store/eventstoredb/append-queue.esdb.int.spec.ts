import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { anEvent } from '../../testing/event-builder.ts';
import {
  EventStoreServer,
  type EventStoreServerOptions,
} from '../../testing/event-store-server/event-store-server.esdb.ts';
import { testCertificate } from '../../testing/event-store-server/test-certificate.ts';
import { connectForTests } from '../../testing/event-store-server/test-store.esdb.ts';
import { eventually } from '../../testing/eventually.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import type { EsdbEventStore } from './event-store.esdb.ts';
import { OutcomeUnknown } from '../event-store.ts';
import { appendConfirmed } from '../transactions/transact.ts';

type Direction = 'to the server' | 'to the client';

/** A proxy between client and server that can stop forwarding what the client sends, and break the connections. */
class Network {
  private readonly sockets = new Set<Socket>();
  private readonly carried: Record<Direction, number> = { 'to the server': 0, 'to the client': 0 };
  /** Whether the stalled network has paused a client. */
  isHolding = false;
  private isStalled = false;
  private cut: { direction: Direction; after: number } | undefined;

  private constructor(private readonly listener: Server) {}

  static async to(port: number): Promise<Network> {
    const listener = createServer();
    const network = new Network(listener);
    listener.on('connection', (client) => {
      const server = connect(port, '127.0.0.1');
      client.on('data', (chunk: Buffer) => {
        network.carry('to the server', chunk, server);
        if (!network.isStalled) return;
        client.pause();
        network.isHolding = true;
      });
      server.on('data', (chunk: Buffer) => {
        network.carry('to the client', chunk, client);
      });
      for (const socket of [client, server]) {
        network.sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          network.sockets.delete(socket);
          client.destroy();
          server.destroy();
        });
      }
    });
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return network;
  }

  get host(): string {
    return `localhost:${String((this.listener.address() as AddressInfo).port)}`;
  }

  get connections(): number {
    return this.sockets.size / 2;
  }

  /** Bytes forwarded so far. */
  get traffic(): Record<Direction, number> {
    return { ...this.carried };
  }

  get hasCut(): boolean {
    return this.cut === undefined;
  }

  /** Breaks the connections once this many more bytes were forwarded in that direction. */
  cutAfter(direction: Direction, bytes: number): void {
    this.cut = { direction, after: this.carried[direction] + bytes };
  }

  stall(): void {
    this.isStalled = true;
  }

  break(): void {
    this.isStalled = false;
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }

  private carry(direction: Direction, chunk: Buffer, target: Socket): void {
    const { cut } = this;
    const from = this.carried[direction];
    this.carried[direction] += chunk.length;
    if (cut?.direction !== direction || this.carried[direction] < cut.after) {
      target.write(chunk);
      return;
    }
    this.cut = undefined;
    target.write(chunk.subarray(0, cut.after - from), () => {
      this.break();
    });
  }

  close(): void {
    this.listener.close();
    this.break();
  }
}

const opened: { close: () => unknown }[] = [];
const aServer = async (options: EventStoreServerOptions = {}) => {
  const server = await EventStoreServer.start(options);
  opened.push(server);
  const network = await Network.to(server.port);
  opened.push(network);
  return { server, network };
};
const connectTo = async ({ host }: Network, query = 'tls=false') => {
  const store = await connectForTests(`esdb://${host}?${query}`);
  opened.push(store);
  return store;
};
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

const certificateFile = join(temporaryFolder(), 'ca.pem');
writeFileSync(certificateFile, testCertificate.certificate);

/** Appends one event to each of that many streams at once. @returns the ids of the events */
const appendToMany = async (store: EsdbEventStore, streams: number, data = {}): Promise<string[]> => {
  const events = Array.from({ length: streams }, () => anEvent({ data }));
  await Promise.all(events.map((event) => appendConfirmed(store, `test-${randomUUID()}`, -1, [event])));
  return events.map(({ id }) => id);
};
const storedIn = async (store: EsdbEventStore): Promise<string[]> =>
  (await store.readAll(0, undefined, 100_000)).events.map(({ id }) => id);

// An unhandled rejection fails the test, as it would end a process.
describe('appends to EventStoreDB', () => {
  it('wait in their callers while the network stalls, and succeed when it recovers', async () => {
    const { network } = await aServer();
    const store = await connectTo(network);
    await store.append('test-first', -1, [anEvent()]);
    network.stall();
    const appended = appendToMany(store, 40, { pad: 'x'.repeat(100_000) });
    await eventually(() => network.isHolding, 5_000, 'the network must stall');
    // Lets the client write its queued appends until the socket reports back pressure.
    for (let ticks = 0; ticks < 1_000; ticks += 1) await setImmediate();
    network.break();
    await appended;
    expect(await storedIn(store)).toHaveLength(41);
  });

  it.each<Direction>(['to the server', 'to the client'])(
    'are all stored exactly once, wherever the connection is cut on the way %s',
    async (direction) => {
      const { network } = await aServer();
      const store = await connectTo(network);
      const before = network.traffic[direction];
      const ids = await appendToMany(store, 200);
      const whole = network.traffic[direction] - before;
      for (const share of [0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95]) {
        network.cutAfter(direction, Math.max(Math.round(whole * share), 1));
        ids.push(...(await appendToMany(store, 200)));
        expect(network.hasCut).toBe(true);
      }
      expect((await storedIn(store)).toSorted()).toEqual(ids.toSorted());
    },
  );

  it('are all stored exactly once when the server repeatedly becomes unavailable', async () => {
    const { server, network } = await aServer();
    const store = await connectTo(network);
    const ids: string[] = [];
    for (let outage = 1; outage <= 6; outage += 1) {
      const appended = appendToMany(store, 200);
      server.faults.isStarting = true;
      if (outage % 3 === 0) server.dropConnections();
      const [stream, event] = [`test-${randomUUID()}`, anEvent()];
      await expect(store.append(stream, -1, [event])).rejects.toBeInstanceOf(OutcomeUnknown);
      server.faults.isStarting = false;
      await appendConfirmed(store, stream, -1, [event]);
      ids.push(event.id, ...(await appended));
    }
    expect((await storedIn(store)).toSorted()).toEqual(ids.toSorted());
  });

  it('leave no connection open when the server takes long to become ready', async () => {
    const { server, network } = await aServer({ tls: testCertificate });
    const store = await connectTo(network, `tls=true&tlsCAFile=${encodeURIComponent(certificateFile)}`);
    server.faults.isStarting = true;
    for (let attempt = 0; attempt < 20; attempt += 1) {
      await expect(store.append('test-late', -1, [anEvent()])).rejects.toBeInstanceOf(OutcomeUnknown);
    }
    await eventually(() => network.connections <= 3, 2_000, 'unused connections must be closed');
    server.faults.isStarting = false;
    await appendConfirmed(store, 'test-late', -1, [anEvent()]);
    expect(await storedIn(store)).toHaveLength(1);
  });
});
