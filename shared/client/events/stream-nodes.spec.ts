import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Server } from 'socket.io';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { eventCatcherExamples } from '../../../schemas/examples/event-catcher-examples.ts';
import { STREAM_NAMESPACE } from '../../../schemas/socket/stream-messages.ts';
import { eventually } from '../../testing/eventually.ts';
import { AnnalsError } from '../annals-error.ts';
import { Events } from './events.ts';
import { findNodes } from './stream-nodes.ts';
import type { StreamState } from './subscription.ts';

const WITHIN_MS = 20_000;
const HOUR_MS = 3_600_000;
const [{ ...listed }] = eventCatcherExamples.listNodes.answer.nodes;
const contract = { chainId: 2484, contractAddress: eventExamples.ChainEventObserved.ContractAddress };

/** A node that accepts every subscription. */
class FakeNode {
  readonly subscribed: { cursor?: string }[] = [];
  /** Whether it lets clients in, but cannot serve them. */
  isBehind = false;
  private readonly http = createServer();
  private readonly server = new Server(this.http, { transports: ['websocket'] });
  url = '';

  async start(): Promise<this> {
    this.server.of(STREAM_NAMESPACE).on('connection', (socket) => {
      socket.on('subscribe', (payload: { cursor?: string }, acknowledge: (answer: object) => void) => {
        const error = { code: 'dependency_unavailable', title: 'Not now', retryAfter: null };
        if (this.isBehind) {
          acknowledge({ ok: false, error });
          return;
        }
        this.subscribed.push(payload);
        const subscriptionId = `sub_${String(this.subscribed.length)}`;
        acknowledge({ ok: true, subscriptionId, channel: subscriptionId, cursor: 'c0', state: 'live' });
      });
    });
    await new Promise<void>((resolve) => this.http.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${String((this.http.address() as AddressInfo).port)}`;
    return this;
  }

  get sockets(): number {
    return this.server.of(STREAM_NAMESPACE).sockets.size;
  }

  drain(): void {
    this.server.of(STREAM_NAMESPACE).emit('draining', { reconnectAfterMs: 1 });
    this.server.of(STREAM_NAMESPACE).disconnectSockets(true);
  }

  /** Only cuts the connections. */
  cut(): void {
    this.server.of(STREAM_NAMESPACE).disconnectSockets(true);
  }

  stop(): Promise<void> {
    return this.server.close();
  }
}

describe('a client that finds its nodes', () => {
  let nodes: FakeNode[];
  /** What the gateway answers. */
  let order: number[];
  let asked: number;
  let gatewayFails: boolean;
  let stopping: AbortController;
  let states: StreamState[];
  let events: Events;
  beforeEach(async () => {
    nodes = await Promise.all([1, 2, 3].map(() => new FakeNode().start()));
    [order, asked, gatewayFails, states, stopping] = [[0, 1, 2], 0, false, [], new AbortController()];
    const ask = () => {
      asked += 1;
      const found = order.map((at) => ({ ...listed, rpcDomain: nodes[at]?.url ?? '' }));
      return gatewayFails
        ? Promise.reject(new AnnalsError('network_error', 'away'))
        : Promise.resolve({ nodes: found });
    };
    events = new Events(
      () => findNodes(ask),
      () => Promise.resolve('token'),
      { firstMs: 20, maxMs: 100, answerMs: HOUR_MS },
    );
  });
  afterEach(async () => {
    stopping.abort();
    await Promise.all(nodes.map((node) => node.stop()));
  });
  const read = (eventSignature = 'Transfer') => {
    const { signal } = stopping;
    const onState = (state: StreamState) => states.push(state);
    void events
      .read({ ...contract, eventSignature, signal, onState })
      .next()
      .catch(() => undefined);
  };
  const counts = () => nodes.map(({ subscribed }) => subscribed.length);
  const become = (...expected: number[]) =>
    eventually(() => counts().join() === expected.join(), WITHIN_MS, `the subscriptions must be ${expected.join()}`);

  it('connects to the first, and shares its connection with the contracts that have the same order', async () => {
    read();
    read('Approval');
    await become(2, 0, 0);
    expect(nodes[0]?.sockets).toBe(1);
    order = [1, 0, 2];
    read('Swap');
    await become(2, 1, 0);
  });

  it('moves to the next node that lets it in when its node ends, and goes on at its cursor', async () => {
    read();
    await become(1, 0, 0);
    await Promise.all([nodes[0]?.stop(), nodes[1]?.stop()]);
    // The gateway does not know yet.
    await become(1, 0, 1);
    expect(nodes[2]?.subscribed[0]?.cursor).toBe('c0');
    expect(asked).toBeGreaterThan(1);
  });

  it('stays at a node that only lost the connection, leaves one that is stopping, and goes where the gateway says', async () => {
    read();
    await become(1, 0, 0);
    nodes[0]?.cut();
    await become(2, 0, 0);
    nodes[0]?.drain();
    await become(2, 1, 0);
    order = [2, 0, 1];
    nodes[1]?.drain();
    await become(2, 1, 1);
  });

  it('leaves a node that lets it in, but refuses again and again to serve it', async () => {
    for (const node of nodes.slice(0, 2)) node.isBehind = true;
    read();
    await become(0, 0, 1);
    expect(states).toContainEqual({
      state: 'connecting',
      error: expect.objectContaining({ code: 'dependency_unavailable' }),
    });
  });

  it('tries the nodes that it knows while the gateway does not answer', async () => {
    read();
    await become(1, 0, 0);
    gatewayFails = true;
    await nodes[0]?.stop();
    await become(1, 1, 0);
  });

  it('waits for a gateway that does not answer, or knows no node yet', async () => {
    gatewayFails = true;
    read();
    await eventually(() => states.length > 0, WITHIN_MS, 'the reader must be told');
    [gatewayFails, order] = [false, []];
    await eventually(() => states.length > 1, WITHIN_MS, 'the reader must be told again');
    order = [1];
    await become(0, 1, 0);
    expect(states.slice(0, 2)).toMatchObject([
      { state: 'connecting', error: { code: 'network_error' } },
      { state: 'connecting', error: { code: 'dependency_unavailable' } },
    ]);
  });
});
