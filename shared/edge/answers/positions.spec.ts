import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { MemoryEventStore } from '../../testing/engines/event-store.memory.ts';
import { anEvent } from '../../testing/event-builder.ts';
import { eventually } from '../../testing/eventually.ts';
import { freezeTimers, untilTrue } from '../../testing/http/frozen-timers.ts';
import { problemOfAnswer } from '../../testing/http/problem-of-answer.ts';
import { testFoundation } from '../../testing/test-foundation.ts';
import { inSimulatedTime } from '../../testing/simulation/simulated-globals.ts';
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
  let asked: jest.Spied<(typeof things)['foundation']['readStore']['position']>;
  beforeEach(async () => {
    freezeTimers();
    things = await startThings({ environment: { RATE_LIMITS: 'off' } });
    asked = jest.spyOn(things.foundation.readStore, 'position');
  });
  afterEach(async () => {
    await things.service.close();
    jest.useRealTimers();
  });

  /** How often the projection was asked how far it is. */
  const times = () => asked.mock.calls.filter(([projection]) => projection === 'users-v5').length;
  const positionAt = (position: number) => {
    const { edgeKey, eventStore } = things.foundation;
    return new PositionHeader(edgeKey, eventStore).write(position);
  };
  const readAfter = (position: string) => things.ask('/things/one', { headers: { 'x-min-position': position } });

  it('waits until the read model has reached the position', async () => {
    const position = (await things.post({ name: 'n' })).headers.get('x-position') ?? '';
    let isAnswered = false;
    const answer = readAfter(position).finally(() => (isAnswered = true));
    await untilTrue(() => times() === 1);
    await jest.advanceTimersByTimeAsync(1_000);
    await things.ask('/things/other');
    expect(isAnswered).toBe(false);
    await things.foundation.readStore.apply('users-v5', [], 7);
    await jest.advanceTimersByTimeAsync(10);
    expect((await answer).status).toBe(200);
  });

  it('needs no header at the process that answered the command', async () => {
    const tokenOf = async (sub: string) => ({
      authorization: `Bearer ${await things.tokens.accessToken({ claims: { sub } })}`,
    });
    const mine = async (sub: string) => things.ask('/mine', { headers: await tokenOf(sub) });
    expect((await mine('usr_writer')).status).toBe(200);
    await things.post({ name: 'n' }, await tokenOf('usr_writer'));
    const tooEarly = mine('usr_writer');
    await untilTrue(() => times() === 1);
    await jest.advanceTimersByTimeAsync(2_010);
    expect((await problemOfAnswer(await tooEarly)).code).toBe('not_caught_up');
    // A caller without writes waits for nothing.
    expect((await mine('usr_reader')).status).toBe(200);
    await things.foundation.readStore.apply('users-v5', [], 7);
    expect((await mine('usr_writer')).status).toBe(200);
  });

  it('gives up after two seconds', async () => {
    let isAnswered = false;
    const answer = readAfter(positionAt(8)).finally(() => (isAnswered = true));
    await untilTrue(() => times() === 1);
    await jest.advanceTimersByTimeAsync(2_000);
    await things.ask('/things/other');
    expect(isAnswered).toBe(false);
    await jest.advanceTimersByTimeAsync(10);
    expect(await problemOfAnswer(await answer)).toMatchObject({ code: 'not_caught_up', retryAfter: 1 });
  });

  it('asks how far a read model is once for all that wait', async () => {
    const waiting = Array.from({ length: 20 }, () => readAfter(positionAt(9)));
    await untilTrue(() => times() === 20);
    await jest.advanceTimersByTimeAsync(2_010);
    for (const answer of waiting) expect((await problemOfAnswer(await answer)).code).toBe('not_caught_up');
    // One request each, and a poll every 10 ms for all together.
    expect(times()).toBe(20 + 201);
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
  const given = async () => {
    const { eventStore, readStore } = await testFoundation();
    const { position } = await eventStore.append('thing-1', -1, [anEvent()]);
    return { readStore, position, models: new Projections(readStore, eventStore) };
  };

  it('retries once the projection has reached the head of the time of the call', () =>
    inSimulatedTime(async (time) => {
      const { readStore, position, models } = await given();
      const answers = [undefined, 'there'];
      const found = models.find('users-v5', () => Promise.resolve(answers.shift()));
      await time.pause(1_000);
      expect(answers).toEqual(['there']);
      await readStore.apply('users-v5', [], position);
      expect(await found).toBe('there');
    }));

  it('does not wait for an existing document, and returns undefined for a missing one', () =>
    inSimulatedTime(async (time) => {
      const { models } = await given();
      expect(await models.find('users-v5', () => Promise.resolve('there'))).toBe('there');
      expect(time.elapsed()).toBe(0);
      await expect(models.find('users-v5', () => Promise.resolve(undefined))).rejects.toThrow('not_caught_up');
      expect(time.elapsed()).toBe(2_010);
    }));
});
