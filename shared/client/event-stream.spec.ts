import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Server, type Socket } from 'socket.io';
import { STREAM_NAMESPACE, type StreamEvent } from '../../schemas/socket/stream-messages.ts';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import { eventually } from '../testing/eventually.ts';
import { EventStream } from './event-stream.socketio.ts';

type Acknowledge = (answer: unknown) => void;
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
  let subscribed: { cursor?: string; fromBlock?: number }[];
  let onSubscribe: (socket: Socket, acknowledge: Acknowledge) => void;
  let stream: EventStream;
  let tokens: string[];

  const accept = (socket: Socket, acknowledge: Acknowledge, cursor: string | null = 'c0') => {
    const subscriptionId = `sub_${String(subscribed.length)}`;
    acknowledge({ ok: true, subscriptionId, channel: 'one', cursor, state: 'live' });
    return { subscriptionId, socket };
  };

  beforeEach(async () => {
    [sockets, subscribed, tokens] = [[], [], []];
    onSubscribe = (socket, acknowledge) => accept(socket, acknowledge);
    const http = createServer();
    server = new Server(http, { transports: ['websocket'] });
    server.of(STREAM_NAMESPACE).use((socket, next) => {
      const { token } = socket.handshake.auth as { token: string };
      tokens.push(token);
      const refused = token === '' ? { code: 'token_missing', title: 'A bearer token is required' } : undefined;
      next(refused && Object.assign(new Error('refused'), { data: refused }));
    });
    server.of(STREAM_NAMESPACE).on('connection', (socket) => {
      sockets.push(socket);
      socket.on('subscribe', (payload: { cursor?: string }, acknowledge: Acknowledge) => {
        subscribed.push(payload);
        onSubscribe(socket, acknowledge);
      });
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${String((http.address() as AddressInfo).port)}`;
    let issued = 0;
    stream = new EventStream(url, () => Promise.resolve(`token-${String((issued += 1))}`));
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
    expect(subscribed.map(({ cursor, fromBlock }) => [cursor, fromBlock])).toEqual([
      [undefined, 5],
      ['c1', 5],
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

  it('requests history again when the connection breaks before the first event', async () => {
    onSubscribe = (socket, acknowledge) => accept(socket, acknowledge, null);
    await stream.open();
    await stream.subscribe({ ...request, fromBlock: 5 }, { event: () => undefined });
    sockets[0]?.conn.close();
    await eventually(() => subscribed.length === 2, 5_000, 'the client must reconnect');
    expect(subscribed[1]).toEqual({ ...request, fromBlock: 5 });
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

  it('notifies the listener of a gap, of live and of the end', async () => {
    await stream.open();
    const notified: unknown[] = [];
    const answer = await stream.subscribe(request, {
      event: () => undefined,
      live: () => notified.push('live'),
      gap: ({ resumeWith }) => notified.push(resumeWith),
      stopped: (code) => notified.push(code),
    });
    const { subscriptionId } = answer;
    sockets[0]?.emit('gap', { subscriptionId, requested: 'a', earliest: 'b', resumeWith: 'b' });
    sockets[0]?.emit('live', { subscriptionId, cursor: 'b' });
    sockets[0]?.emit('stopped', { subscriptionId, code: 'session_revoked' });
    await eventually(() => notified.length === 3, 2_000, 'the listener must be notified of all three');
    expect(notified).toEqual(['b', 'live', 'session_revoked']);
  });

  it('throws the code of a refused connection or command', async () => {
    const anonymous = new EventStream(url, () => Promise.reject(new Error('sign in first')));
    await expect(anonymous.open()).rejects.toMatchObject({ code: 'token_missing' });
    await stream.open();
    onSubscribe = (_, acknowledge) => {
      acknowledge({ ok: false, error: { code: 'watch_not_found', title: 'No', detail: 'register it first' } });
    };
    await expect(stream.subscribe(request, { event: () => undefined })).rejects.toMatchObject({
      code: 'watch_not_found',
    });
  });
});
