import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Server, type Socket } from 'socket.io';
import { STREAM_NAMESPACE, type StreamEvent } from '../../schemas/socket/stream-messages.ts';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import { eventually } from '../testing/eventually.ts';
import { EventStream } from './event-stream.socketio.ts';
import { ProblemError } from './problem-error.ts';
import type { StreamRefused } from './stream-refused.ts';

type Acknowledge = (answer: unknown) => void;
interface Subscribing {
  cursor?: string;
  fromBlock?: number;
}
const WITHIN_MS = 20_000;
/** Longer than the client waits for an answer. */
const LATE_WITHIN_MS = 40_000;
const request = {
  chainId: 2484,
  contractAddress: eventExamples.ChainEventObserved.ContractAddress,
  eventSignature: 'Transfer',
};
const event = (cursor: string): StreamEvent => ({
  channel: 'one',
  cursor,
  change: 'observed',
  event: { ...eventExamples.ChainEventObserved, WatchId: 'wch_1', Status: 'observed' },
});

/** Speaks the protocol of section 7 of the interface, with a server that the test controls. */
describe('a stream of events', () => {
  let server: Server;
  let url: string;
  let sockets: Socket[];
  let subscribed: Subscribing[];
  let onSubscribe: (socket: Socket, acknowledge: Acknowledge) => void;
  let stream: EventStream;
  let tokens: string[];
  let token: () => Promise<string>;
  /** Codes with which the next connections are refused, in this order. */
  let refusals: string[];

  const accept = (socket: Socket, acknowledge: Acknowledge, cursor = 'c0') => {
    const subscriptionId = `sub_${String(subscribed.length)}`;
    acknowledge({ ok: true, subscriptionId, channel: 'one', cursor, state: 'live' });
    return { subscriptionId, socket };
  };

  beforeEach(async () => {
    [sockets, subscribed, tokens, refusals] = [[], [], [], []];
    onSubscribe = (socket, acknowledge) => accept(socket, acknowledge);
    const http = createServer();
    server = new Server(http, { transports: ['websocket'] });
    server.of(STREAM_NAMESPACE).use((socket, next) => {
      tokens.push((socket.handshake.auth as { token: string }).token);
      const code = refusals.shift();
      const refused = code && { code, title: 'No', detail: 'because' };
      next(refused ? Object.assign(new Error('refused'), { data: refused }) : undefined);
    });
    server.of(STREAM_NAMESPACE).on('connection', (socket) => {
      sockets.push(socket);
      socket.on('subscribe', (payload: Subscribing, acknowledge: Acknowledge) => {
        subscribed.push(payload);
        onSubscribe(socket, acknowledge);
      });
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${String((http.address() as AddressInfo).port)}`;
    let issued = 0;
    token = () => Promise.resolve(`token-${String((issued += 1))}`);
    stream = new EventStream(url, () => token());
  });
  afterEach(async () => {
    stream.close();
    await server.close();
  });

  it('gives each event once, also those that follow the answer at once', async () => {
    onSubscribe = (socket, acknowledge) => {
      accept(socket, acknowledge);
      for (const cursor of ['c1', 'c2', 'c1', 'c2', 'c3']) socket.emit('event', event(cursor));
    };
    await stream.open();
    const cursors: string[] = [];
    await stream.subscribe(request, { event: ({ cursor }) => cursors.push(cursor) });
    await eventually(() => cursors.length === 3, 2_000, 'the events must arrive');
    expect(cursors).toEqual(['c1', 'c2', 'c3']);
  });

  it('resumes after the last event when the connection breaks, with a new token', async () => {
    await stream.open();
    const cursors: string[] = [];
    await stream.subscribe({ ...request, fromBlock: 5 }, { event: ({ cursor }) => cursors.push(cursor) });
    sockets[0]?.emit('event', event('c1'));
    await eventually(() => cursors.length === 1, 2_000, 'the event must arrive');
    onSubscribe = (socket, acknowledge) => {
      accept(socket, acknowledge);
      socket.emit('event', event('c1'));
      socket.emit('event', event('c2'));
    };
    sockets[0]?.conn.close();
    await eventually(() => cursors.length === 2, 5_000, 'the stream must resume');
    expect(cursors).toEqual(['c1', 'c2']);
    expect(subscribed).toEqual([
      { ...request, fromBlock: 5 },
      { ...request, cursor: 'c1' },
    ]);
    expect(tokens).toEqual(['token-1', 'token-2']);
  });

  it('reconnects at the time that a draining node gave', async () => {
    await stream.open();
    await stream.subscribe(request, { event: () => undefined });
    sockets[0]?.emit('draining', { reconnectAfterMs: 1 });
    sockets[0]?.disconnect(true);
    await eventually(() => subscribed.length === 2, 3_000, 'the client must reconnect');
    expect(subscribed[1]?.cursor).toBe('c0');
  });

  it('goes on where the history begins when the connection breaks before the first event, and with its block', async () => {
    const blocks: number[] = [];
    onSubscribe = (socket, acknowledge) => accept(socket, acknowledge, 'beginning');
    await stream.open();
    const listener = { event: (message: StreamEvent) => blocks.push(message.event.BlockNumber) };
    const { BlockNumber } = event('c1').event;
    await stream.subscribe({ ...request, fromBlock: BlockNumber }, listener);
    onSubscribe = (socket, acknowledge) => {
      accept(socket, acknowledge);
      const before = event('c1');
      socket.emit('event', { ...before, event: { ...before.event, BlockNumber: BlockNumber - 1 } });
      socket.emit('event', event('c2'));
    };
    sockets[0]?.conn.close();
    await eventually(() => blocks.length > 0, WITHIN_MS, 'the client must resume');
    expect(subscribed[1]).toEqual({ ...request, cursor: 'beginning' });
    expect(blocks).toEqual([BlockNumber]);
  });

  it('sends a new token before the old one expires', async () => {
    await stream.open();
    const refreshed = new Promise((resolve) => {
      sockets[0]?.on('refresh', (payload: unknown, acknowledge: Acknowledge) => {
        acknowledge({ ok: true, expiresAt: '2026-01-01T00:00:00.000Z' });
        resolve(payload);
      });
    });
    sockets[0]?.emit('expiring', { expiresAt: '2026-01-01T00:00:00.000Z' });
    expect(await refreshed).toEqual({ token: 'token-2' });
  });

  it('notifies the listener of a gap, of live, of the state of the watch, and of the end', async () => {
    await stream.open();
    const notified: unknown[] = [];
    const answer = await stream.subscribe(request, {
      event: () => undefined,
      live: () => notified.push('live'),
      gap: ({ resumeWith }) => notified.push(resumeWith),
      state: ({ state, lastError }) => notified.push([state, lastError]),
      stopped: ({ code }) => notified.push(code),
    });
    const { subscriptionId } = answer;
    sockets[0]?.emit('gap', { subscriptionId, requested: 'a', earliest: 'b', resumeWith: 'b', fromBlock: 3 });
    sockets[0]?.emit('live', { subscriptionId, cursor: 'b' });
    sockets[0]?.emit('state', { subscriptionId, state: 'paused', lastError: 'by the operator' });
    sockets[0]?.emit('stopped', { subscriptionId, code: 'session_revoked' });
    await eventually(() => notified.length === 4, 2_000, 'the listener must be notified of all four');
    expect(notified).toEqual(['b', 'live', ['paused', 'by the operator'], 'session_revoked']);
  });

  it('throws what the first connection or the command was refused for', async () => {
    refusals = ['rate_limited'];
    await expect(stream.open()).rejects.toMatchObject({ code: 'rate_limited', message: 'rate_limited: because' });
    await expect(stream.subscribe(request, { event: () => undefined })).rejects.toMatchObject({ code: 'rate_limited' });
    const anonymous = new EventStream(url, () => Promise.reject(new Error('sign in first')));
    await expect(anonymous.open()).rejects.toThrow('sign in first');
    await stream.open();
    onSubscribe = (_, acknowledge) => {
      acknowledge({ ok: false, error: { code: 'watch_not_found', title: 'No', detail: 'register it first' } });
    };
    await expect(stream.subscribe(request, { event: () => undefined })).rejects.toMatchObject({
      code: 'watch_not_found',
    });
  });

  describe('after a failure that can pass', () => {
    let cursors: string[];
    let ended: StreamRefused[];
    const subscribe = async () => {
      [cursors, ended] = [[], []];
      await stream.open();
      await stream.subscribe(request, {
        event: ({ cursor }) => cursors.push(cursor),
        stopped: (reason) => ended.push(reason),
      });
      sockets[0]?.emit('event', event('c1'));
      await eventually(() => cursors.length === 1, WITHIN_MS, 'the first event must arrive');
    };
    const resumes = async (count = 2, withinMs = WITHIN_MS) => {
      await eventually(() => subscribed.length === count, withinMs, 'the client must resume');
      sockets.at(-1)?.emit('event', event('c2'));
      await eventually(() => cursors.length === 2, WITHIN_MS, 'the next event must arrive');
      expect([cursors, subscribed.at(-1)?.cursor, ended]).toEqual([['c1', 'c2'], 'c1', []]);
    };

    it('of the request for a token, it asks for another one', async () => {
      await subscribe();
      const good = token;
      let failures = 2;
      token = () => (failures-- > 0 ? Promise.reject(new Error('the account service is away')) : good());
      sockets[0]?.conn.close();
      await resumes();
      expect(tokens).toEqual(['token-1', 'token-2']);
    });

    it('of the connection, whose token has expired, it connects with another one', async () => {
      await subscribe();
      refusals = ['token_expired', 'token_missing', 'dependency_unavailable'];
      sockets[0]?.conn.close();
      await resumes();
      expect(tokens).toHaveLength(5);
    });

    it('of the command, it sends it again', async () => {
      await subscribe();
      let failures = 2;
      onSubscribe = (socket, acknowledge) => {
        if (failures-- > 0) acknowledge({ ok: false, error: { code: 'not_caught_up', title: 'No', detail: 'later' } });
        else accept(socket, acknowledge);
      };
      sockets[0]?.conn.close();
      await resumes(4);
      expect(sockets).toHaveLength(2);
    });

    it(
      'of a node that does not answer, it connects anew',
      async () => {
        await subscribe();
        onSubscribe = () => {
          onSubscribe = (socket, acknowledge) => accept(socket, acknowledge);
        };
        sockets[0]?.conn.close();
        await resumes(3, LATE_WITHIN_MS);
        expect(sockets).toHaveLength(3);
      },
      2 * LATE_WITHIN_MS,
    );

    it('of the subscription, it subscribes again', async () => {
      await subscribe();
      sockets[0]?.emit('stopped', { subscriptionId: 'sub_1', code: 'dependency_unavailable' });
      await resumes();
      expect(sockets).toHaveLength(1);
    });

    it.each(['origin_not_allowed', 'session_revoked', 'validation_failed'])(
      'it does not go on once a connection is refused as %s',
      async (code) => {
        await subscribe();
        refusals = [code];
        sockets[0]?.conn.close();
        await eventually(() => ended.length > 0, WITHIN_MS, 'the subscription must end');
        expect(ended).toMatchObject([{ name: 'StreamRefused', code }]);
        await expect(stream.subscribe(request, { event: () => undefined })).rejects.toMatchObject({ code });
      },
    );

    it('it does not go on once the request for a token is refused because the session was revoked', async () => {
      await subscribe();
      const problem = { type: '', title: 'No', status: 401, detail: 'ended', instance: '', code: 'session_revoked' };
      token = () => Promise.reject(new ProblemError({ ...problem, code: 'session_revoked' }));
      sockets[0]?.conn.close();
      await eventually(() => ended.length > 0, WITHIN_MS, 'the subscription must end');
      expect(ended).toMatchObject([{ name: 'StreamRefused', code: 'session_revoked' }]);
    });
  });

  it('no longer waits for an answer once it is closed', async () => {
    await stream.open();
    onSubscribe = () => undefined;
    const waiting = stream.subscribe(request, { event: () => undefined });
    await eventually(() => subscribed.length === 1, WITHIN_MS, 'the command must arrive');
    stream.close();
    await expect(waiting).rejects.toThrow('the stream was closed');
  });
});
