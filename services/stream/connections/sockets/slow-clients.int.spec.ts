import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { aRecord } from '../../testing/fake-catcher.ts';
import { streamUnderTest } from '../../testing/stream-under-test.module.ts';
import { startStopwatch } from '../../../../shared/testing/stopwatch.ts';

const MIB = 1_024 * 1_024;
/** More than the kernel keeps for a socket on the loopback. */
const EVENTS = 1_500;
const data = { text: 'x'.repeat(20_000) };

describe('a client that does not read', () => {
  let stream: Awaited<ReturnType<typeof streamUnderTest>>;
  beforeAll(async () => {
    stream = await streamUnderTest();
  });
  afterAll(() => stream.close());
  const publish = async (contractAddress: string, from: number, count: number) => {
    for (let block = from; block < from + count; block += 1) {
      stream.catcher.store('observed', aRecord({ contractAddress, block, data }));
    }
    await stream.catcher.publish();
  };

  it('does not delay the others, costs the node little memory, and is disconnected', async () => {
    const contractAddress = await stream.registerContract();
    const reading = await stream.connect();
    await reading.subscribe(contractAddress);
    const stalled = await Promise.all(Array.from({ length: 20 }, () => stream.connect()));
    for (const client of stalled) await client.subscribe(contractAddress);
    for (const client of stalled) client.stopReading();
    const before = process.memoryUsage().rss;
    for (let block = 0; block < EVENTS; block += 100) {
      await publish(contractAddress, block, 100);
      await reading.waitForEvents(block + 100);
    }
    const grown = process.memoryUsage().rss - before;
    await eventually(() => stream.connections() === 1, 10_000, 'the stalled clients must be disconnected');
    expect(reading.events.map(({ event }) => event.BlockNumber)).toEqual(
      Array.from({ length: EVENTS }, (_, block) => block),
    );
    // Their unread events alone are 20 times 30 MB.
    expect(grown / MIB).toBeLessThan(250);
  });

  it('is disconnected, and receives the rest with its last cursor', async () => {
    const contractAddress = await stream.registerContract();
    const client = await stream.connect();
    await client.subscribe(contractAddress);
    client.stopReading();
    await publish(contractAddress, 0, EVENTS);
    await eventually(() => stream.connections() < 2, 10_000, 'the stalled client must be disconnected');
    client.resumeReading();
    await client.waitForDisconnect();
    const received = client.events.length;
    expect(received).toBeLessThan(EVENTS);
    const again = await stream.connect();
    await again.subscribe(contractAddress, { cursor: client.events.at(-1)?.cursor });
    await again.waitForMessage('live', 20_000);
    const blocks = [...client.events, ...again.events].map(({ event }) => event.BlockNumber);
    expect(blocks).toEqual(Array.from({ length: EVENTS }, (_, block) => block));
  });

  it('is disconnected when it sends commands without end', async () => {
    const client = await stream.connect();
    client.stopReading();
    const before = stream.connections();
    for (let sent = 0; sent < 100_000; sent += 1)
      client.sendText('2/events,1["unsubscribe",{"subscriptionId":"none"}]');
    await eventually(() => stream.connections() < before, 20_000, 'the client must be disconnected');
  });

  it('does not delay a node that stops', async () => {
    const other = await streamUnderTest();
    const contractAddress = await other.registerContract();
    const client = await other.connect();
    await client.subscribe(contractAddress);
    client.stopReading();
    for (let block = 0; block < EVENTS; block += 1) {
      other.catcher.store('observed', aRecord({ contractAddress, block, data }));
    }
    await other.catcher.publish();
    const passedMs = startStopwatch();
    await other.stopNode();
    expect(passedMs()).toBeLessThan(3_000);
    client.close();
  });

  it('is sent everything when it reads again in time', async () => {
    const contractAddress = await stream.registerContract();
    const client = await stream.connect();
    await client.subscribe(contractAddress);
    client.stopReading();
    await publish(contractAddress, 0, 200);
    client.resumeReading();
    expect((await client.waitForEvents(200)).map(({ event }) => event.BlockNumber)).toEqual(
      Array.from({ length: 200 }, (_, block) => block),
    );
  });
});

describe('a burst of events', () => {
  it('reaches every client that reads, in order, even when it is larger than what may wait', async () => {
    await using stream = await streamUnderTest();
    const contractAddress = await stream.registerContract();
    const clients = await Promise.all(Array.from({ length: 10 }, () => stream.connect()));
    for (const client of clients) await client.subscribe(contractAddress);
    for (let block = 0; block < 5_000; block += 1)
      stream.catcher.store('observed', aRecord({ contractAddress, block }));
    await stream.catcher.publish();
    for (const client of clients) {
      const events = await client.waitForEvents(5_000, 20_000);
      expect(events.map(({ event }) => event.BlockNumber)).toEqual(Array.from({ length: 5_000 }, (_, block) => block));
    }
  });
});
