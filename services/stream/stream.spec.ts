import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aRecord, newContract } from './testing/fake-catcher.ts';
import { streamUnderTest } from './testing/stream-under-test.module.ts';

describe('the stream', () => {
  let stream: Awaited<ReturnType<typeof streamUnderTest>>;
  beforeAll(async () => {
    stream = await streamUnderTest();
  });
  afterAll(() => stream.close());

  it('sends a subscriber the events from now on, in order', async () => {
    const contractAddress = newContract();
    await stream.catcher.register(contractAddress);
    await stream.catcher.observe(aRecord({ contractAddress, block: 1 }));
    const client = await stream.connect();
    const answer = await client.subscribe(contractAddress);
    expect(answer).toMatchObject({ ok: true, state: 'live' });
    const stored = [];
    for (let block = 2; block < 12; block += 1)
      stored.push(await stream.catcher.observe(aRecord({ contractAddress, block })));
    const events = await client.waitForEvents(10);
    expect(events.map(({ event }) => event)).toEqual(stored.map(({ record: one }) => ({ ...one, Status: 'observed' })));
    expect(new Set(events.map(({ channel }) => channel))).toEqual(new Set([answer.channel]));
    expect(new Set(events.map(({ cursor }) => cursor)).size).toBe(10);
  });
});
