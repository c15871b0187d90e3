import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startThings } from '../../testing/http/things-service.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

/** W3C Trace Context, section 3.2. */
describe("a request's traceparent", () => {
  let things: Awaited<ReturnType<typeof startThings>>;
  beforeAll(async () => {
    things = await startThings({ environment: { RATE_LIMITS: 'off' } });
  });
  afterAll(() => things.service.close());

  /** Returns the traceparent that is stored with the events of a request. */
  const storedWith = async (traceparent: string): Promise<unknown> => {
    const { eventStore } = things.foundation;
    const before = await eventStore.head();
    expect((await things.post({ name: 'a' }, { traceparent, 'idempotency-key': randomUUID() })).status).toBe(201);
    const { events } = await eventStore.readAll(before, undefined, 10);
    const [received, answered] = events.map(({ metadata }) => metadata);
    expect(received).toEqual(answered);
    return received?.traceparent;
  };

  it.each([
    ['as it is', `00-${TRACE}-${PARENT}-01`, `00-${TRACE}-${PARENT}-01`],
    ['when it was not sampled', `00-${TRACE}-${PARENT}-00`, `00-${TRACE}-${PARENT}-00`],
    ['as version 00 of a later version', `01-${TRACE}-${PARENT}-01`, `00-${TRACE}-${PARENT}-01`],
    ['without what only a later version has', `cc-${TRACE}-${PARENT}-01-what-comes`, `00-${TRACE}-${PARENT}-01`],
  ])('is kept with its events %s', async (_, traceparent, kept) => {
    expect(await storedWith(traceparent)).toBe(kept);
  });

  it.each([
    ['is empty', ''],
    ['is something else', 'trace-me'],
    ['has a version that there will never be', `ff-${TRACE}-${PARENT}-01`],
    ['has more than its version has', `00-${TRACE}-${PARENT}-01-more`],
    ['has more than its version has, without a dash', `01-${TRACE}-${PARENT}-01more`],
    ['has no trace', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['has no parent', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['is in capitals', `00-${TRACE.toUpperCase()}-${PARENT}-01`],
    ['lacks its flags', `00-${TRACE}-${PARENT}`],
    ['came twice', `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`],
  ])('is ignored when it %s', async (_, traceparent) => {
    expect(await storedWith(traceparent)).toBeUndefined();
  });
});
