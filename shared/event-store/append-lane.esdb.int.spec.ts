import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { anEvent } from '../testing/event-builder.ts';
import { EventStoreServer } from '../testing/event-store-server/event-store-server.esdb.ts';
import { eventually } from '../testing/eventually.ts';
import { EsdbEventStore } from './event-store.esdb.ts';
import { appendSettled } from './transact.ts';

/** A network between client and server, which can stop to carry what the client sends, and break. */
class Network {
  private readonly sockets = new Set<Socket>();
  private isStalled = false;

  private constructor(private readonly listener: Server) {}

  static async to(port: number): Promise<Network> {
    const listener = createServer();
    const network = new Network(listener);
    listener.on('connection', (client) => {
      const server = connect(port, '127.0.0.1');
      client.on('data', (chunk) => {
        server.write(chunk);
        if (network.isStalled) client.pause();
      });
      server.pipe(client);
      for (const socket of [client, server]) {
        network.sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          client.destroy();
          server.destroy();
        });
      }
    });
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return network;
  }

  get url(): string {
    return `esdb://127.0.0.1:${String((this.listener.address() as AddressInfo).port)}?tls=false`;
  }

  stall(): void {
    this.isStalled = true;
  }

  break(): void {
    this.isStalled = false;
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }

  close(): void {
    this.listener.close();
    this.break();
  }
}

describe('appends to EventStoreDB over a network that stalls', () => {
  let server: EventStoreServer;
  let network: Network;
  let store: EsdbEventStore;
  beforeEach(async () => {
    server = await EventStoreServer.start();
    network = await Network.to(server.port);
    const settings = { EVENTSTORE_URL: network.url };
    store = await EsdbEventStore.connect({ settings, logger: pino({ level: 'silent' }) });
  });
  afterEach(async () => {
    await store.close();
    network.close();
    await server.close();
  });

  // A rejection that nobody handles fails the test, as it ends a process.
  it('fail where their callers hear of it, and are settled when it carries again', async () => {
    await store.append('test-first', -1, [anEvent()]);
    network.stall();
    const data = { pad: 'x'.repeat(100_000) };
    const streams = Array.from({ length: 150 }, () => `test-${randomUUID()}`);
    const settled = Promise.all(streams.map((stream) => appendSettled(store, stream, -1, [anEvent({ data })])));
    const from = performance.now();
    await eventually(() => performance.now() - from > 500, 5_000, 'the stall must last');
    network.break();
    await settled;
    expect((await store.readAll(0, undefined, 1_000)).events).toHaveLength(151);
  });
});
