import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Server, type Socket } from 'socket.io';
import { STREAM_NAMESPACE, type StreamEvent } from '../../../schemas/socket/stream-messages.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { eventually } from '../../testing/eventually.ts';
import { AnnalsError } from '../annals-error.ts';
import type { SubscribeRequest } from '../routes.ts';
import { Events, type EventsOptions } from './events.ts';
import { nodeAt } from './stream-nodes.ts';
import { CHANGES_WAITING_MAX, type Patience, type StreamState } from './subscription.ts';

type Acknowledge = (answer: unknown) => void;
type Subscribing = Pick<SubscribeRequest, 'cursor' | 'fromBlock'>;
const WITHIN_MS = 20_000;
const HOUR_MS = 3_600_000;
/** Short pauses, and no answer that is late. */
const PATIENT: Patience = { firstMs: 10, maxMs: 100, answerMs: HOUR_MS };
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

/** Reads events as an app does. */
class Reader {
  readonly cursors: string[] = [];
  readonly changes: StreamEvent[] = [];
  readonly states: StreamState[] = [];
  readonly saved: string[] = [];
  private readonly stopping = new AbortController();
  readonly ended: Promise<unknown>;

  constructor(events: Events, options: Partial<EventsOptions> = {}) {
    const onState = (state: StreamState) => this.states.push(state);
    const checkpoint = { load: () => undefined, save: (cursor: string) => this.saved.push(cursor) };
    const { signal } = this.stopping;
    this.ended = this.read(events.read({ ...request, onState, checkpoint, signal, ...options }));
  }

  private async read(events: AsyncIterable<StreamEvent>): Promise<unknown> {
    try {
      for await (const change of events) {
        this.changes.push(change);
        this.cursors.push(change.cursor);
      }
    } catch (error) {
      return error;
    }
    return undefined;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.ended;
  }
}

/** Speaks the protocol of section 7 of the interface, with a server that the test controls. */
describe('events of a stream', () => {
  let server: Server;
  let url: string;
  let sockets: Socket[];
  let subscribed: Subscribing[];
  let unsubscribed: unknown[];
  let onSubscribe: (socket: Socket, acknowledge: Acknowledge) => void;
  let events: Events;
  let readers: Reader[];
  let tokens: string[];
  let token: (refused: string | undefined) => Promise<string>;
  /** Codes with which the next connections are refused, in this order. */
  let refusals: string[];

  const accept = (socket: Socket, acknowledge: Acknowledge, cursor = 'c0') => {
    const subscriptionId = `sub_${String(subscribed.length)}`;
    acknowledge({ ok: true, subscriptionId, channel: 'one', cursor, state: 'live' });
    return { subscriptionId, socket };
  };
  const acceptAndSend =
    (...cursors: string[]) =>
    (socket: Socket, acknowledge: Acknowledge) => {
      accept(socket, acknowledge);
      for (const cursor of cursors) socket.emit('event', event(cursor));
    };
  const giveToken = (refused: string | undefined) => token(refused);
  const withPatience = (patience: Patience) => new Events(() => nodeAt(url), giveToken, patience);
  const open = async (options: Partial<EventsOptions> = {}): Promise<Reader> => {
    const reader = new Reader(events, options);
    readers.push(reader);
    await eventually(() => reader.states.some(({ state }) => state === 'live'), WITHIN_MS, 'it must be accepted');
    return reader;
  };
  const arrived = (reader: Reader, count: number) =>
    eventually(() => reader.cursors.length === count, WITHIN_MS, 'the events must arrive');

  beforeEach(async () => {
    [sockets, subscribed, unsubscribed, tokens, refusals, readers] = [[], [], [], [], [], []];
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
      socket.on('unsubscribe', (payload: unknown, acknowledge: Acknowledge) => {
        unsubscribed.push(payload);
        acknowledge({ ok: true });
      });
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${String((http.address() as AddressInfo).port)}`;
    let issued = 0;
    token = () => Promise.resolve(`token-${String((issued += 1))}`);
    events = withPatience(PATIENT);
  });
  afterEach(async () => {
    await Promise.all(readers.map((reader) => reader.stop()));
    await server.close();
  });

  it('come once each, also those that follow the answer at once', async () => {
    onSubscribe = acceptAndSend('c1', 'c2', 'c1', 'c2', 'c3');
    const reader = await open();
    await arrived(reader, 3);
    expect(reader.cursors).toEqual(['c1', 'c2', 'c3']);
  });

  it('go on after the last one when the connection breaks, with a new token', async () => {
    const reader = await open({ fromBlock: 5 });
    sockets[0]?.emit('event', event('c1'));
    await arrived(reader, 1);
    onSubscribe = acceptAndSend('c1', 'c2');
    sockets[0]?.conn.close();
    await arrived(reader, 2);
    expect(reader.cursors).toEqual(['c1', 'c2']);
    expect(subscribed).toEqual([
      { ...request, fromBlock: 5 },
      { ...request, cursor: 'c1' },
    ]);
    expect(tokens).toEqual(['token-1', 'token-2']);
    expect(reader.states).toMatchObject([
      { state: 'connecting' },
      { state: 'live' },
      { state: 'connecting', error: { code: 'network_error' } },
      { state: 'live' },
    ]);
  });

  it('reconnect at the time that a draining node gave', async () => {
    events = withPatience({ ...PATIENT, firstMs: HOUR_MS, maxMs: HOUR_MS });
    await open();
    sockets[0]?.emit('draining', { reconnectAfterMs: 1 });
    sockets[0]?.disconnect(true);
    await eventually(() => subscribed.length === 2, WITHIN_MS, 'the client must reconnect');
    expect(subscribed[1]?.cursor).toBe('c0');
  });

  it('go on where the history begins when the connection breaks before the first, and with its block', async () => {
    onSubscribe = (socket, acknowledge) => accept(socket, acknowledge, 'beginning');
    const { BlockNumber } = event('c1').event;
    const reader = await open({ fromBlock: BlockNumber });
    onSubscribe = (socket, acknowledge) => {
      accept(socket, acknowledge);
      const before = event('c1');
      socket.emit('event', { ...before, event: { ...before.event, BlockNumber: BlockNumber - 1 } });
      socket.emit('event', event('c2'));
    };
    sockets[0]?.conn.close();
    await arrived(reader, 1);
    expect(subscribed[1]).toEqual({ ...request, cursor: 'beginning' });
    expect(reader.changes[0]?.event.BlockNumber).toBe(BlockNumber);
  });

  it('ask for another token before the one of the connection expires', async () => {
    const refused: unknown[] = [];
    const good = token;
    token = (expiring) => {
      refused.push(expiring);
      return good(expiring);
    };
    await open();
    const refreshed = new Promise((resolve) => {
      sockets[0]?.on('refresh', (payload: unknown, acknowledge: Acknowledge) => {
        acknowledge({ ok: true, expiresAt: '2026-01-01T00:00:00.000Z' });
        resolve(payload);
      });
    });
    sockets[0]?.emit('expiring', { expiresAt: '2026-01-01T00:00:00.000Z' });
    expect(await refreshed).toEqual({ token: 'token-2' });
    expect(refused).toEqual([undefined, 'token-1']);
  });

  it('tell of live, of the state of the watch and of a gap in their order, and go on after it', async () => {
    const gaps: number[] = [];
    const reader = await open({ cursor: 'a', onGap: ({ fromBlock }) => gaps.push(fromBlock) });
    const subscriptionId = 'sub_1';
    sockets[0]?.emit('gap', { subscriptionId, requested: 'a', earliest: 'b', resumeWith: 'b', fromBlock: 3 });
    sockets[0]?.emit('event', event('c1'));
    sockets[0]?.emit('live', { subscriptionId, cursor: 'c2' });
    sockets[0]?.emit('state', { subscriptionId, state: 'paused', lastError: 'by the operator' });
    await eventually(() => reader.states.length === 4, WITHIN_MS, 'the reader must be told');
    expect(reader.states.slice(2)).toEqual([{ state: 'live' }, { state: 'paused', lastError: 'by the operator' }]);
    expect([gaps, reader.cursors, reader.saved]).toEqual([[3], ['c1'], ['b', 'c1', 'c2']]);
  });

  it('end with a gap if nobody says that they may go on', async () => {
    const reader = await open({ cursor: 'a' });
    const gap = { subscriptionId: 'sub_1', requested: 'a', earliest: 'b', resumeWith: 'b', fromBlock: 3 };
    sockets[0]?.emit('gap', gap);
    sockets[0]?.emit('event', event('c1'));
    expect(await reader.ended).toMatchObject({ name: 'AnnalsError', code: 'gap', gap });
    expect([reader.cursors, reader.saved]).toEqual([[], []]);
  });

  it('are saved once the reader asks for the next, and go on there', async () => {
    onSubscribe = acceptAndSend('c1', 'c2');
    const saved: string[] = [];
    const checkpoint = { load: () => saved.at(-1), save: (cursor: string) => saved.push(cursor) };
    for await (const { cursor } of events.read({ ...request, checkpoint })) if (cursor === 'c2') break;
    expect(saved).toEqual(['c0', 'c1']);
    for await (const { cursor } of events.read({ ...request, fromBlock: 1, checkpoint })) if (cursor === 'c2') break;
    expect(subscribed.map(({ cursor }) => cursor)).toEqual([undefined, 'c1']);
  });

  it('hold back the node, and lose nothing, while nobody reads them', async () => {
    let position = 0;
    let sent = 0;
    onSubscribe = (socket, acknowledge) => {
      accept(socket, acknowledge);
      position = Number(subscribed.at(-1)?.cursor?.slice(1) ?? 0);
      for (let count = 0; count < 2 * CHANGES_WAITING_MAX; count += 1) {
        position += 1;
        sent += 1;
        socket.emit('event', event(`c${String(position)}`));
      }
    };
    const reading = events.read(request);
    const first = await reading.next();
    expect(first.value).toMatchObject({ cursor: 'c1' });
    await eventually(() => unsubscribed.length === 1, WITHIN_MS, 'the node must be told to wait');
    expect([subscribed.length, sent]).toEqual([1, 2 * CHANGES_WAITING_MAX]);
    for (let count = 2; count <= 3 * CHANGES_WAITING_MAX; count += 1) {
      expect((await reading.next()).value).toMatchObject({ cursor: `c${String(count)}` });
    }
    await reading.return();
    // The first was taken before the others came, or with them.
    expect([`c${String(CHANGES_WAITING_MAX)}`, `c${String(CHANGES_WAITING_MAX + 1)}`]).toContain(subscribed[1]?.cursor);
  });

  it('of several subscriptions share a connection, but not those of one channel', async () => {
    await open();
    await open({ eventSignature: 'Approval' });
    expect(sockets).toHaveLength(1);
    await open();
    expect(sockets).toHaveLength(2);
    onSubscribe = (socket, acknowledge) => {
      onSubscribe = (other, accepting) => accept(other, accepting);
      acknowledge({ ok: false, error: { code: 'already_subscribed', title: 'No', detail: 'under another name' } });
    };
    await open({ eventSignature: 'Transfer(address,address,uint256)' });
    expect(sockets).toHaveLength(3);
    await Promise.all(readers.map((reader) => reader.stop()));
    await eventually(() => server.of(STREAM_NAMESPACE).sockets.size === 0, WITHIN_MS, 'connections must be closed');
  });

  it('end with what the command was refused for', async () => {
    onSubscribe = (_, acknowledge) => {
      acknowledge({ ok: false, error: { code: 'watch_not_found', title: 'No', detail: 'register it first' } });
    };
    expect(await new Reader(events).ended).toMatchObject({ code: 'watch_not_found', status: 404 });
  });

  it('end when the signal aborts, with its reason, also before the node has answered', async () => {
    const reason = new Error('enough');
    const stopping = new AbortController();
    const reader = await open({ signal: stopping.signal });
    onSubscribe = () => undefined;
    const unanswered = new Reader(events, { signal: stopping.signal, eventSignature: 'Approval' });
    await eventually(() => subscribed.length === 2, WITHIN_MS, 'the command must arrive');
    stopping.abort(reason);
    expect(await reader.ended).toBe(reason);
    expect(await unanswered.ended).toBe(reason);
  });

  describe('after a failure that can pass', () => {
    let reader: Reader;
    const subscribe = async () => {
      reader = await open();
      sockets[0]?.emit('event', event('c1'));
      await arrived(reader, 1);
    };
    const resumes = async (count = 2) => {
      await eventually(() => subscribed.length === count, WITHIN_MS, 'the client must resume');
      sockets.at(-1)?.emit('event', event('c2'));
      await arrived(reader, 2);
      expect([reader.cursors, subscribed.at(-1)?.cursor]).toEqual([['c1', 'c2'], 'c1']);
    };

    it.each(['the first connection', 'a later one'])(
      'of the request for a token of %s, ask for another',
      async (which) => {
        const good = token;
        let failures = 0;
        token = (refused) =>
          failures-- > 0 ? Promise.reject(new Error('the account service is away')) : good(refused);
        if (which === 'the first connection') failures = 2;
        await subscribe();
        if (which !== 'the first connection') failures = 2;
        sockets[0]?.conn.close();
        await resumes();
        expect(tokens).toEqual(['token-1', 'token-2']);
      },
    );

    it('of the first connection, connect again', async () => {
      refusals = ['rate_limited', 'token_expired'];
      await subscribe();
      expect(tokens).toEqual(['token-1', 'token-2', 'token-3']);
    });

    it('of the connection, whose token has expired, connect with another one', async () => {
      await subscribe();
      refusals = ['token_expired', 'token_missing', 'dependency_unavailable'];
      sockets[0]?.conn.close();
      await resumes();
      expect(tokens).toHaveLength(5);
    });

    it('of the command, send it again', async () => {
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

    it('of a node that does not answer, connect anew', async () => {
      events = withPatience({ ...PATIENT, answerMs: 1_000 });
      onSubscribe = acceptAndSend('c1');
      reader = await open();
      await arrived(reader, 1);
      onSubscribe = () => {
        onSubscribe = acceptAndSend('c2');
      };
      sockets.at(-1)?.conn.close();
      await arrived(reader, 2);
      expect([reader.cursors, subscribed.at(-1)?.cursor]).toEqual([['c1', 'c2'], 'c1']);
      // On a slow machine, further answers are late.
      expect(sockets.length).toBeGreaterThanOrEqual(3);
    });

    it('of the subscription, subscribe again, until it is stopped for good', async () => {
      await subscribe();
      sockets[0]?.emit('stopped', { subscriptionId: 'sub_1', code: 'dependency_unavailable' });
      await resumes();
      expect(sockets).toHaveLength(1);
      sockets[0]?.emit('stopped', { subscriptionId: 'sub_2', code: 'session_revoked' });
      expect(await reader.ended).toMatchObject({ name: 'AnnalsError', code: 'session_revoked' });
    });

    it.each(['origin_not_allowed', 'session_revoked', 'validation_failed'])(
      'do not go on once a connection is refused as %s',
      async (code) => {
        await subscribe();
        refusals = [code];
        sockets[0]?.conn.close();
        expect(await reader.ended).toMatchObject({ name: 'AnnalsError', code });
      },
    );

    it.each(['not_signed_in', 'session_revoked', 'refresh_token_reused', 'app_revoked'])(
      'do not go on once the request for a token is refused as %s',
      async (code) => {
        await subscribe();
        token = () => Promise.reject(new AnnalsError(code, 'ended'));
        sockets[0]?.conn.close();
        expect(await reader.ended).toMatchObject({ name: 'AnnalsError', code });
      },
    );
  });
});
