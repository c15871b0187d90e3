import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { aRecord } from '../../testing/fake-catcher.ts';
import { streamUnderTest } from '../../testing/stream-under-test.module.ts';
import { BYTES_WAITING_MAX } from '../bounded-buffer.ts';

type Stream = Awaited<ReturnType<typeof streamUnderTest>>;

const data = { text: 'x'.repeat(20_000) };
/** More than one event needs. */
const EVENT_BYTES = 22_000;
/** Fewer than may wait for a client that reads. */
const AT_ONCE = 20;
/** Clients that have missed more than 1 MiB are disconnected soon. */
const MISSED_TOO_MUCH = 60;
const HOUR_MS = 3_600_000;

const isFull = (bytes: number) => bytes > BYTES_WAITING_MAX - EVENT_BYTES;
const blocksUpTo = (count: number) => Array.from({ length: count }, (_, block) => block);

/** A contract, a client that reads its events, and the blocks that have some so far. */
const someEvents = async (stream: Stream) => {
  const contractAddress = await stream.registerContract();
  const reading = await stream.connect();
  await reading.subscribe(contractAddress);
  let published = 0;
  let mostUnsent = 0;
  /** Returns when the reading client has the events. */
  const publish = async (count: number) => {
    for (const until = published + count; published < until; published += 1)
      stream.catcher.store('observed', aRecord({ contractAddress, block: published, data }));
    await stream.catcher.publish();
    await reading.waitForEvents(published);
    mostUnsent = Math.max(mostUnsent, ...stream.bytesUnsent());
  };
  return {
    contractAddress,
    reading,
    publish,
    published: () => published,
    mostUnsent: () => mostUnsent,
    /** Publishes events until the kernel takes no more for any client but the one that reads. */
    publishUntilFull: async () => {
      while (stream.bytesUnsent().filter((bytes) => !isFull(bytes)).length > 1) await publish(AT_ONCE);
    },
    publishTooMuch: async () => {
      for (let missed = 0; missed < MISSED_TOO_MUCH; missed += AT_ONCE) await publish(AT_ONCE);
    },
  };
};

/** A client of a contract that stops to read. */
const stalledClient = async (stream: Stream, contractAddress: string) => {
  const client = await stream.connect();
  await client.subscribe(contractAddress);
  client.stopReading();
  return client;
};

const slowDisconnects = async (stream: Stream) => {
  const metric = stream.measured().find(({ name }) => name === 'annals_stream_slow_disconnects_total');
  return (await metric?.read())?.map(({ labels, value }) => [labels['reason'], value]);
};

describe('a client that does not read', () => {
  it('does not delay the others, costs the node little memory, and is disconnected', async () => {
    await using stream = await streamUnderTest({ limits: { stallGraceMs: 100 } });
    const { contractAddress, reading, ...events } = await someEvents(stream);
    await Promise.all(Array.from({ length: 20 }, () => stalledClient(stream, contractAddress)));
    await events.publishUntilFull();
    await events.publishTooMuch();
    await eventually(() => stream.connections() === 1, 10_000, 'the stalled clients must be disconnected');
    expect(reading.events.map(({ event }) => event.BlockNumber)).toEqual(blocksUpTo(events.published()));
    expect(events.mostUnsent()).toBeLessThan(BYTES_WAITING_MAX + EVENT_BYTES);
    expect(await slowDisconnects(stream)).toEqual([['missed', 20]]);
  });

  it('is disconnected, and receives the rest with its last cursor', async () => {
    await using stream = await streamUnderTest({ limits: { stallGraceMs: 100 } });
    const { contractAddress, ...events } = await someEvents(stream);
    const client = await stalledClient(stream, contractAddress);
    await events.publishUntilFull();
    await events.publishTooMuch();
    await eventually(() => stream.connections() === 1, 10_000, 'the stalled client must be disconnected');
    client.resumeReading();
    await client.waitForDisconnect();
    expect(client.events.length).toBeLessThan(events.published());
    const again = await stream.connect();
    await again.subscribe(contractAddress, { cursor: client.events.at(-1)?.cursor });
    await again.waitForMessage('live', 20_000);
    const blocks = [...client.events, ...again.events].map(({ event }) => event.BlockNumber);
    expect(blocks).toEqual(blocksUpTo(events.published()));
  });

  it('is disconnected when it sends commands without end', async () => {
    await using stream = await streamUnderTest();
    const client = await stream.connect();
    client.stopReading();
    const isDisconnected = () => {
      for (let sent = 0; sent < 2_000; sent += 1)
        client.sendText('2/events,1["unsubscribe",{"subscriptionId":"none"}]');
      return stream.connections() === 0;
    };
    await eventually(isDisconnected, 20_000, 'the client must be disconnected');
    expect(await slowDisconnects(stream)).toEqual([['answers', 1]]);
  });

  it('does not delay a node that stops', async () => {
    await using stream = await streamUnderTest({ drainMs: HOUR_MS });
    const { contractAddress, ...events } = await someEvents(stream);
    await stalledClient(stream, contractAddress);
    await events.publishUntilFull();
    // If the stop waited for sockets as it does for requests, it would not return within the time of the test.
    await stream.stopNode();
    // The node has not waited until it would give up the client anyway.
    expect(await slowDisconnects(stream)).toEqual([]);
  });

  it('is sent everything when it reads again in time', async () => {
    await using stream = await streamUnderTest();
    const { contractAddress, ...events } = await someEvents(stream);
    const client = await stalledClient(stream, contractAddress);
    await events.publishUntilFull();
    await events.publishTooMuch();
    client.resumeReading();
    const received = await client.waitForEvents(events.published());
    expect(received.map(({ event }) => event.BlockNumber)).toEqual(blocksUpTo(events.published()));
  });
});

describe('a burst of events', () => {
  it('reaches every client that reads, in order, even when it is larger than what may wait', async () => {
    await using stream = await streamUnderTest();
    const contractAddress = await stream.registerContract();
    const clients = await Promise.all(Array.from({ length: 10 }, () => stream.connect()));
    for (const client of clients) await client.subscribe(contractAddress);
    for (const block of blocksUpTo(5_000)) stream.catcher.store('observed', aRecord({ contractAddress, block }));
    await stream.catcher.publish();
    for (const client of clients) {
      const events = await client.waitForEvents(5_000, 20_000);
      expect(events.map(({ event }) => event.BlockNumber)).toEqual(blocksUpTo(5_000));
    }
  });
});
