import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { MemoryEventStore } from '../../testing/engines/event-store.memory.ts';
import { anEvent } from '../../testing/event-builder.ts';
import { eventually } from '../../testing/eventually.ts';
import { problemOfAnswer } from '../../testing/http/problem-of-answer.ts';
import { testFoundation } from '../../testing/test-foundation.ts';
import { startThings } from '../../testing/http/things-service.ts';
import { PositionHeader } from './position-header.ts';
import { Projections } from './projections.ts';

describe('a position in a header', () => {
  const headerOf = (key: number) => new PositionHeader(Buffer.alloc(32, key), new MemoryEventStore());
  const header = headerOf(1);

  it('is decoded as it was encoded', () => {
    fc.assert(fc.property(fc.maxSafeNat(), (position) => header.read(header.write(position)) === position));
  });

  it('is not accepted when it was changed', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.nat().map(String), fc.base64String()), (text) => {
        expect(() => header.read(text)).toThrow('validation_failed');
      }),
    );
    expect(() => header.read(`0${header.write(7)}`)).toThrow('validation_failed');
    // A position from before positions were signed, then one signed with another key.
    expect(() => header.read('7-11d265b1')).toThrow('validation_failed');
    expect(() => header.read(headerOf(2).write(7))).toThrow('validation_failed');
  });
});

describe('reading your own write', () => {
  let things: Awaited<ReturnType<typeof startThings>>;
  beforeAll(async () => {
    things = await startThings({ environment: { RATE_LIMITS: 'off' } });
  });
  afterAll(() => things.service.close());

  const readAfter = (position: string) => things.ask('/things/one', { headers: { 'x-min-position': position } });

  it('waits until the read model has reached the position', async () => {
    const position = (await things.post({ name: 'n' })).headers.get('x-position') ?? '';
    let isAnswered = false;
    const answer = readAfter(position).finally(() => (isAnswered = true));
    await things.ask('/things/slow');
    expect(isAnswered).toBe(false);
    await things.foundation.readStore.apply('users-v5', [], 7);
    expect((await answer).status).toBe(200);
  });

  it('needs no header at the process that answered the command', async () => {
    const own = await startThings({ environment: { RATE_LIMITS: 'off' } });
    const mine = async (sub: string) => {
      const authorization = `Bearer ${await own.tokens.accessToken({ claims: { sub } })}`;
      return own.ask('/mine', { headers: { authorization } });
    };
    const tokenOf = async (sub: string) => ({
      authorization: `Bearer ${await own.tokens.accessToken({ claims: { sub } })}`,
    });
    expect((await mine('usr_writer')).status).toBe(200);
    await own.post({ name: 'n' }, await tokenOf('usr_writer'));
    expect((await problemOfAnswer(await mine('usr_writer'))).code).toBe('not_caught_up');
    // A caller without writes waits for nothing.
    expect((await mine('usr_reader')).status).toBe(200);
    await own.foundation.readStore.apply('users-v5', [], 7);
    expect((await mine('usr_writer')).status).toBe(200);
    await own.service.close();
  });

  it('gives up after two seconds', async () => {
    const began = performance.now();
    const { edgeKey, eventStore } = things.foundation;
    const problem = await problemOfAnswer(await readAfter(new PositionHeader(edgeKey, eventStore).write(8)));
    expect(problem).toMatchObject({ code: 'not_caught_up', retryAfter: 1 });
    expect(performance.now() - began).toBeGreaterThanOrEqual(2_000);
  });

  it('asks how far a read model is once for all that wait', async () => {
    const { readStore, edgeKey, eventStore } = things.foundation;
    const position = jest.spyOn(readStore, 'position');
    const text = new PositionHeader(edgeKey, eventStore).write(9);
    const waiting = Array.from({ length: 20 }, () => readAfter(text));
    await Promise.all(waiting);
    // One request each, and some 200 polls for all together.
    expect(position.mock.calls.length).toBeLessThan(300);
    position.mockRestore();
  });

  it('refuses an invalid position', async () => {
    for (const wrong of ['7', 'latest', '7-00000000', '{"$gt":""}']) {
      expect((await problemOfAnswer(await readAfter(wrong))).code).toBe('validation_failed');
    }
  });
});

describe('the position of an answer', () => {
  let things: Awaited<ReturnType<typeof startThings>>;
  let positions: PositionHeader;
  beforeAll(async () => {
    const RATE_LIMITS = JSON.stringify({ request: { points: 12, seconds: 600 } });
    things = await startThings({ environment: { RATE_LIMITS } });
    positions = new PositionHeader(things.foundation.edgeKey, things.foundation.eventStore);
  });
  afterAll(() => things.service.close());

  const grow = async () => {
    const { position } = await things.foundation.eventStore.append(`thing-${randomUUID()}`, -1, [anEvent()]);
    return position;
  };
  const positionOf = ({ headers }: Response) => positions.read(headers.get('x-position') ?? '');

  it('is the head, also of a command that is refused, or was carried out before', async () => {
    const key = { 'idempotency-key': randomUUID() };
    const first = await things.post({ name: 'n' }, key);
    expect(first.status).toBe(201);
    for (const repeat of [
      () => things.post({ name: 'n' }, key),
      () => things.post({ name: 'taken' }),
      () => things.post({ name: 7 }),
      () => things.post({ name: 'n' }, { 'content-type': 'application/json', 'idempotency-key': '' }),
    ]) {
      for (let more = 0; more < 10; more += 1) await grow();
      const head = await things.foundation.eventStore.head();
      expect(positionOf(await repeat())).toBeGreaterThanOrEqual(Math.max(head, 7));
    }
  });

  it('is there when a known caller asks too often, and not for one who is not known', async () => {
    const { status, headers } = await eventually(
      async () => {
        const answer = await things.post({ name: 'n' });
        return answer.status === 429 && answer;
      },
      5_000,
      'the limit must be exceeded',
    );
    expect([status, positions.read(headers.get('x-position') ?? '') >= 7]).toEqual([429, true]);
    const unknown = await things.post({ name: 'n' }, { authorization: 'Bearer x' });
    expect([unknown.status, unknown.headers.has('x-position')]).toEqual([401, false]);
    expect((await things.ask('/things/one')).headers.has('x-position')).toBe(false);
  });

  it('is left out, and holds up nobody, while the event store does not answer', async () => {
    const { eventStore } = things.foundation;
    const head = jest.spyOn(eventStore, 'head').mockReturnValue(new Promise(() => undefined));
    expect((await things.post({ name: 'n' })).headers.has('x-position')).toBe(false);
    head.mockRestore();
  });
});

describe('finding a document that may not be projected yet', () => {
  it('retries once the projection has reached the head of the time of the call', async () => {
    const { eventStore, readStore } = await testFoundation();
    const models = new Projections(readStore, eventStore);
    const { position } = await eventStore.append('thing-1', -1, [anEvent()]);
    const answers = [undefined, 'there'];
    const found = models.find('users-v5', () => Promise.resolve(answers.shift()));
    await readStore.apply('users-v5', [], position);
    expect(await found).toBe('there');
  });

  it('does not wait for an existing document, and returns undefined for a missing one', async () => {
    const { eventStore, readStore } = await testFoundation();
    const models = new Projections(readStore, eventStore);
    await eventStore.append('thing-1', -1, [anEvent()]);
    expect(await models.find('users-v5', () => Promise.resolve('there'))).toBe('there');
    await expect(models.find('users-v5', () => Promise.resolve(undefined))).rejects.toThrow('not_caught_up');
  });
});
