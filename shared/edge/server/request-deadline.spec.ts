import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { freezeTimers, untilTrue } from '../../testing/http/frozen-timers.ts';
import { TestClock } from '../../testing/test-foundation.ts';
import { problemOfAnswer } from '../../testing/http/problem-of-answer.ts';
import { rawConnection } from '../../testing/http/raw-http.ts';
import { heldCount, letGo, startThings } from '../../testing/http/things-service.ts';
import { ANSWER_WITHIN_MS } from './request-deadline.ts';

describe('an answer', () => {
  beforeEach(freezeTimers);
  afterEach(() => {
    jest.useRealTimers();
  });

  it('begins within 5 s, whatever the service waits for, and what the request does goes on', async () => {
    await using things = await startThings({
      environment: { RATE_LIMITS: 'off' },
      answerWithinMs: ANSWER_WITHIN_MS,
      clock: new TestClock(Date.now()),
    });
    const { eventStore, readStore, logged } = things.foundation;
    let received = 0;
    things.service.app.getHttpServer().on('request', () => (received += 1));
    const made = things.made();
    const held = things.post({ name: 'held' });
    await untilTrue(() => heldCount() === 1);
    const asked = new Set<string>();
    const never = (name: string) => () => {
      asked.add(name);
      return new Promise<never>(() => undefined);
    };
    const silent = [
      jest.spyOn(eventStore, 'read').mockImplementation(never('read')),
      jest.spyOn(eventStore, 'head').mockImplementation(never('head')),
      jest.spyOn(readStore, 'position').mockImplementation(never('position')),
      jest.spyOn(readStore, 'find').mockImplementation(never('find')),
    ];
    let answered = 0;
    const waiting = [
      held,
      things.post({ name: 'n' }, { 'idempotency-key': randomUUID() }),
      things.ask('/mine', { headers: { origin: 'https://shop.example' } }),
      things.ask('/things', {
        method: 'OPTIONS',
        headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
      }),
    ].map((answer) => answer.finally(() => (answered += 1)));
    await untilTrue(() => received === 4 && asked.has('read'));
    expect(ANSWER_WITHIN_MS).toBeLessThan(5_000);
    jest.advanceTimersByTime(ANSWER_WITHIN_MS - 1);
    expect((await things.ask('/health/live')).status).toBe(200);
    expect(answered).toBe(0);
    jest.advanceTimersByTime(1);
    const answers = await Promise.all(waiting);
    const codes = await Promise.all(answers.map(async (answer) => (await problemOfAnswer(answer)).code));
    expect(new Set(codes)).toEqual(new Set(['dependency_unavailable']));
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
    asked.clear();
    const ready = things.ask('/health/ready');
    await untilTrue(() => asked.has('head'));
    jest.advanceTimersByTime(ANSWER_WITHIN_MS);
    expect((await ready).status).toBe(503);
    for (const method of silent) method.mockRestore();
    letGo();
    expect((await things.ask('/things/one')).status).toBe(200);
    expect(things.made()).toBe(made + 1);
    expect(logged.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });

  it('waits for a body that comes slowly', async () => {
    let bodies = 0;
    await using things = await startThings({
      environment: { RATE_LIMITS: 'off' },
      answerWithinMs: ANSWER_WITHIN_MS,
      serve: () => ({
        configure: (app) => {
          app
            .getHttpAdapter()
            .getInstance()
            .addHook('preParsing', (_request, _reply, _payload, done) => {
              bodies += 1;
              done();
            });
        },
      }),
    });
    const connection = rawConnection(things.service.url);
    const body = '{"name":"n"}';
    const head = `POST /things HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${await things.tokens.accessToken()}`;
    connection.write(
      `${head}\r\ncontent-type: application/json\r\ncontent-length: ${String(body.length)}\r\n\r\n${body.slice(0, 5)}`,
    );
    await untilTrue(() => bodies === 1);
    jest.advanceTimersByTime(2 * ANSWER_WITHIN_MS);
    connection.write(body.slice(5));
    expect(await connection.answer).toMatch(/^HTTP\/1\.1 201 /);
  });
});
