import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { problemOfAnswer } from '../../testing/http/problem-of-answer.ts';
import { rawConnection } from '../../testing/http/raw-http.ts';
import { startThings } from '../../testing/http/things-service.ts';
import { startStopwatch } from '../../testing/stopwatch.ts';
import { ANSWER_WITHIN_MS } from './request-deadline.ts';

/** An answer starts within 5 s; the rest is tolerance for a busy machine. */
const ANSWERED_WITHIN_MS = 6_500;
const never = () => new Promise<never>(() => undefined);

describe('an answer', () => {
  it('begins within 5 s, whatever the service waits for, and what the request does goes on', async () => {
    await using things = await startThings({ environment: { RATE_LIMITS: 'off' }, answerWithinMs: ANSWER_WITHIN_MS });
    const { eventStore, readStore, logged } = things.foundation;
    await things.post({ name: 'n' });
    const passedMs = startStopwatch();
    const slow = things.post({ name: 'n', delayMs: 5_200 });
    const made = things.made();
    const [read, position] = [eventStore.read.bind(eventStore), readStore.position.bind(readStore)];
    eventStore.read = never;
    eventStore.head = never;
    readStore.position = never;
    readStore.find = never;
    const waiting = [
      slow,
      things.post({ name: 'n' }, { 'idempotency-key': randomUUID() }),
      things.ask('/mine', { headers: { origin: 'https://shop.example' } }),
      things.ask('/things', {
        method: 'OPTIONS',
        headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
      }),
      things.ask('/health/ready'),
    ];
    const answers = await Promise.all(waiting);
    expect(passedMs()).toBeLessThan(ANSWERED_WITHIN_MS);
    const codes = await Promise.all(answers.slice(0, 4).map(async (answer) => (await problemOfAnswer(answer)).code));
    expect(new Set(codes)).toEqual(new Set(['dependency_unavailable']));
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
    Object.assign(eventStore, { read });
    Object.assign(readStore, { position });
    expect((await things.ask('/things/slow')).status).toBe(200);
    expect(things.made()).toBe(made + 1);
    expect(logged.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });

  it('waits for a body that comes slowly', async () => {
    await using things = await startThings({ environment: { RATE_LIMITS: 'off' }, answerWithinMs: ANSWER_WITHIN_MS });
    const connection = rawConnection(things.service.url);
    const body = '{"name":"n"}';
    const head = `POST /things HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${await things.tokens.accessToken()}`;
    connection.write(
      `${head}\r\ncontent-type: application/json\r\ncontent-length: ${String(body.length)}\r\n\r\n${body.slice(0, 5)}`,
    );
    const { promise, resolve } = Promise.withResolvers<undefined>();
    setTimeout(resolve, 5_000, undefined);
    await promise;
    connection.write(body.slice(5));
    expect(await connection.answer).toMatch(/^HTTP\/1\.1 201 /);
  });
});
