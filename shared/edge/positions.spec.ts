import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anEvent } from '../testing/event-builder.ts';
import { problemOfAnswer } from '../testing/problem-of-answer.ts';
import { testFoundation } from '../testing/test-foundation.ts';
import { startThings } from '../testing/things-service.ts';
import { PositionHeader } from './position-header.ts';
import { Projections } from './projections.ts';

describe('a position in a header', () => {
  const header = new PositionHeader(Buffer.alloc(32, 1));

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
    // The form before positions were signed; then that of a process with another key.
    expect(() => header.read('7-11d265b1')).toThrow('validation_failed');
    expect(() => header.read(new PositionHeader(Buffer.alloc(32, 2)).write(7))).toThrow('validation_failed');
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
    await things.foundation.readStore.apply('users-v1', [], 7);
    expect((await answer).status).toBe(200);
  });

  it('gives up after two seconds', async () => {
    const began = performance.now();
    const problem = await problemOfAnswer(await readAfter(new PositionHeader(things.foundation.masterKey).write(8)));
    expect(problem).toMatchObject({ code: 'not_caught_up', retryAfter: 1 });
    expect(performance.now() - began).toBeGreaterThanOrEqual(2_000);
  });

  it('refuses an invalid position', async () => {
    for (const wrong of ['7', 'latest', '7-00000000', '{"$gt":""}']) {
      expect((await problemOfAnswer(await readAfter(wrong))).code).toBe('validation_failed');
    }
  });
});

describe('finding a document that may not be projected yet', () => {
  it('retries once the projection has reached the head of the time of the call', async () => {
    const { eventStore, readStore } = await testFoundation();
    const models = new Projections(readStore, eventStore);
    const { position } = await eventStore.append('thing-1', -1, [anEvent()]);
    const answers = [undefined, 'there'];
    const found = models.find('users-v1', () => Promise.resolve(answers.shift()));
    await readStore.apply('users-v1', [], position);
    expect(await found).toBe('there');
  });

  it('does not wait for an existing document, and returns undefined for a missing one', async () => {
    const { eventStore, readStore } = await testFoundation();
    const models = new Projections(readStore, eventStore);
    await eventStore.append('thing-1', -1, [anEvent()]);
    expect(await models.find('users-v1', () => Promise.resolve('there'))).toBe('there');
    await expect(models.find('users-v1', () => Promise.resolve(undefined))).rejects.toThrow('not_caught_up');
  });
});
