import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { toAppend, Transactor } from '../../event-store/transactions/transact.ts';
import { Refusal } from '../../errors/refusal.ts';
import { sha256 } from '../../primitives/ids.ts';
import { eventually } from '../../testing/eventually.ts';
import { anEvent, someMetadata } from '../../testing/event-builder.ts';
import { inSimulatedTime } from '../../testing/simulation/simulated-globals.ts';
import { TestClock, testFoundation, type TestFoundation } from '../../testing/test-foundation.ts';
import { freezePerformance, untilTrue } from '../../testing/http/frozen-timers.ts';
import { problemOfAnswer } from '../../testing/http/problem-of-answer.ts';
import { heldCount, letGo, startThings } from '../../testing/http/things-service.ts';
import { IdempotentRequests, type StoredAnswer, type IdempotentRequest } from './idempotent-requests.ts';

const request: IdempotentRequest = {
  caller: 'user:usr_1',
  key: 'key-1',
  fingerprint: 'body-1',
  metadata: someMetadata,
};
const stream = `request-${sha256(JSON.stringify(['user:usr_1', 'key-1']))}`;
const answerOf = (body: unknown): StoredAnswer => ({ status: 201, headers: { 'x-position': 'p' }, body });

describe('a repeated request', () => {
  let foundation: TestFoundation;
  let clock: TestClock;
  let requests: IdempotentRequests;
  let carriedOut: number;
  const once = (changes: Partial<IdempotentRequest> = {}, answer = answerOf('first')) =>
    requests.once({ ...request, ...changes }, () => {
      carriedOut += 1;
      return Promise.resolve(answer);
    });
  const received = () =>
    eventually(
      async () => (await foundation.eventStore.read(stream)).length > 0,
      1_000,
      'the request must be received',
    );
  /** Starts another process on the same stores. */
  const restart = () =>
    new IdempotentRequests(new Transactor(foundation.eventStore, clock, foundation.ids), foundation.edgeKey);

  beforeEach(async () => {
    clock = new TestClock();
    foundation = await testFoundation({ clock });
    requests = restart();
    carriedOut = 0;
  });

  it('receives the first answer again, from any process', async () => {
    expect(await once()).toEqual(answerOf('first'));
    requests = restart();
    expect(await once({}, answerOf('second'))).toEqual(answerOf('first'));
    expect(carriedOut).toBe(1);
  });

  it('waits for the first when both run at once', () =>
    inSimulatedTime(async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => once({}, answerOf(at))));
      expect(carriedOut).toBe(1);
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    }));

  it('waits for the first with the same signature for a second at most', () =>
    inSimulatedTime(async (time) => {
      const { promise, resolve } = Promise.withResolvers<StoredAnswer>();
      const first = requests.onceSigned(request, () => promise);
      const replayed = () => Promise.reject(new Refusal('request_replayed', 'the signature was used'));
      const early = requests.onceSigned(request, replayed);
      await expect(early).rejects.toThrow('request_replayed');
      expect(time.elapsed()).toBe(1_000);
      const second = requests.onceSigned(request, replayed);
      await time.pause(500);
      resolve(answerOf('first'));
      expect(await second).toEqual(answerOf('first'));
      expect(await first).toEqual(answerOf('first'));
    }));

  it('is refused with another body', async () => {
    await once();
    await expect(once({ fingerprint: 'body-2' })).rejects.toThrow('idempotency_key_reused');
  });

  it('leaves no hash of its body that somebody without the key of the service could find by trying', async () => {
    await once();
    await requests.onceSigned({ ...request, key: 'key-2' }, () => Promise.resolve(answerOf('signed')));
    const { events } = await foundation.eventStore.readAll(0, undefined, 100);
    const stored = events.filter(({ type }) => type === 'RequestReceived').map(({ data }) => data['fingerprint']);
    expect(stored).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), stored[0]]);
    expect([request.fingerprint, sha256(request.fingerprint)]).not.toContain(stored[0]);
  });

  it('is a new request with another key or from another caller', async () => {
    await once();
    await once({ key: 'key-2' });
    await once({ caller: 'user:usr_2', fingerprint: 'body-2' });
    expect(carriedOut).toBe(3);
  });

  it('is carried out again after a temporary failure', async () => {
    expect(await requests.once(request, () => Promise.resolve(undefined))).toBeUndefined();
    expect(await once()).toEqual(answerOf('first'));
  });

  it('is carried out again after an unexpected error', async () => {
    await expect(requests.once(request, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await once()).toEqual(answerOf('first'));
  });

  it('is taken over when the first process crashed', async () => {
    void requests.once(request, () => new Promise(() => undefined));
    await received();
    const taken = once();
    clock.time += 10_001;
    expect(await taken).toEqual(answerOf('first'));
  });

  it('receives the answer of the process that took it over, although the first was only slow', async () => {
    const { promise, resolve } = Promise.withResolvers<StoredAnswer>();
    const slow = requests.once(request, () => promise);
    await received();
    clock.time += 10_001;
    await once();
    resolve(answerOf('slow'));
    expect(await slow).toEqual(answerOf('slow'));
    expect(await once()).toEqual(answerOf('first'));
  });

  it('is a new request after 24 hours', async () => {
    await once();
    clock.time += 24 * 3_600_000;
    expect(await once({ fingerprint: 'body-2' }, answerOf('new'))).toEqual(answerOf('new'));
    expect(await once({ fingerprint: 'body-2' })).toEqual(answerOf('new'));
  });

  it('is a new request after 26 hours, when what was stored of it is forgotten', () =>
    inSimulatedTime(async (time) => {
      await once();
      clock.time += 26 * 3_600_000;
      expect(await foundation.eventStore.read(stream)).toEqual([]);
      requests = restart();
      const answers = await Promise.all([1, 2, 3].map((at) => once({ fingerprint: 'body-2' }, answerOf(at))));
      expect(time.elapsed()).toBeLessThan(1_000);
      expect(answers).toEqual(Array(3).fill(answers[0]));
      expect(carriedOut).toBe(2);
    }));

  it('is refused when the first answer began a session that has ended since', async () => {
    const login = { ...answerOf('tokens'), sessionId: 'ses_1' };
    await once({}, login);
    expect(await once()).toEqual(login);
    const { eventStore } = foundation;
    await eventStore.append('session-ses_1', -1, [anEvent({ type: 'SessionStarted' })]);
    expect(await once()).toEqual(login);
    await eventStore.append('session-ses_1', 0, [anEvent({ type: 'SessionRevoked' })]);
    await expect(once()).rejects.toThrow('session_revoked');
  });

  it('is carried out once by two processes that receive it at once, the second although it saw no first', async () => {
    await once({ key: 'key-2' });
    const { events } = await foundation.eventStore.readAll(0, undefined, 1);
    const fingerprint = events[0]?.data['fingerprint'];
    const received = toAppend({ type: 'RequestReceived', data: { fingerprint } }, someMetadata, foundation);
    await foundation.eventStore.append(stream, -1, [received, { ...received, id: foundation.ids.uuid() }]);
    const waiting = once();
    const answered = { type: 'RequestAnswered', data: { sealedAnswer: null } };
    await foundation.eventStore.append(stream, 1, [toAppend(answered, someMetadata, foundation)]);
    expect(await waiting).toEqual(answerOf('first'));
    expect(carriedOut).toBe(2);
  });

  it('stores its answer encrypted', async () => {
    await once({}, answerOf({ accessToken: 'secret-token' }));
    const stored = await foundation.eventStore.read(stream);
    expect(stored.map(({ type }) => type)).toEqual(['RequestReceived', 'RequestAnswered']);
    expect(JSON.stringify(stored.map(({ dataText }) => dataText))).not.toContain('secret');
  });
});

describe('Idempotency-Key', () => {
  it('repeats status, position and body of a command, and of a refusal', async () => {
    await using things = await startThings({ environment: { RATE_LIMITS: 'off' } });
    const key = { 'idempotency-key': 'abc!' };
    const first = await things.post({ name: 'n' }, key);
    const again = await things.post({ name: 'n' }, key);
    expect(again.status).toBe(201);
    expect(await again.json()).toEqual(await first.json());
    expect(again.headers.get('x-position')).toBe(first.headers.get('x-position'));
    expect((await problemOfAnswer(await things.post({ name: 'other' }, key))).code).toBe('idempotency_key_reused');

    const before = things.made();
    const refused = await things.post({ name: 'guessed' }, { 'idempotency-key': 'b' });
    expect(refused.status).toBe(401);
    const refusedAgain = await things.post({ name: 'guessed' }, { 'idempotency-key': 'b' });
    expect(refusedAgain.status).toBe(401);
    expect(refusedAgain.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(await refusedAgain.json()).toEqual(await refused.json());
    expect(things.made()).toBe(before + 1);
  });

  it.each([
    ['depends on what is stored', 'taken', 409],
    ['is temporary', 'down', 503],
  ])('carries out again what was refused for a reason that %s', async (_, name, status) => {
    await using things = await startThings({ environment: { RATE_LIMITS: 'off' } });
    const before = things.made();
    for (const times of [1, 2]) {
      expect((await things.post({ name }, { 'idempotency-key': 'c' })).status).toBe(status);
      expect(things.made()).toBe(before + times);
    }
  });

  it('repeats the answer of a command whose body is signed, and stores nothing of one that is not', async () => {
    await using things = await startThings({ environment: { RATE_LIMITS: 'off' } });
    const signed = (signature: string, name = 'n') =>
      things.ask('/signed-things', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': 'k' },
        body: JSON.stringify({ signature, name }),
      });
    const signature = randomUUID();
    for (const _ of [1, 2, 3]) expect(await (await signed(signature)).json()).toEqual({ made: things.made() });
    expect((await problemOfAnswer(await signed(signature, 'other'))).code).toBe('idempotency_key_reused');

    const head = await things.foundation.eventStore.head();
    expect((await problemOfAnswer(await signed('wrong'))).code).toBe('bot_signature_invalid');
    expect(await things.foundation.eventStore.head()).toBe(head);
  });

  it('of two signed requests at once, carries out one and repeats its answer', async () => {
    await using things = await startThings({ environment: { RATE_LIMITS: 'off' } });
    const before = { made: things.made(), replayed: things.replayed() };
    const body = JSON.stringify({ signature: randomUUID(), name: 'held' });
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'k' };
    const signed = () => things.ask('/signed-things', { method: 'POST', headers, body });
    freezePerformance();
    try {
      const first = signed();
      await untilTrue(() => heldCount() === 1);
      const second = signed();
      await untilTrue(() => things.replayed() === before.replayed + 1);
      letGo();
      for (const answer of [await first, await second]) expect(await answer.json()).toEqual({ made: before.made + 1 });
    } finally {
      jest.useRealTimers();
    }
    expect(things.made()).toBe(before.made + 1);
  });

  it('is refused when it is too long or invisible', async () => {
    await using things = await startThings();
    for (const wrong of ['', 'x'.repeat(129), 'with space']) {
      const answer = await things.post({ name: 'n' }, { 'idempotency-key': wrong });
      expect((await problemOfAnswer(answer)).code).toBe('validation_failed');
    }
  });
});
