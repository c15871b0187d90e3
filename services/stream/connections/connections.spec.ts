import { describe, expect, it } from '@jest/globals';
import { aRecord } from '../testing/fake-catcher.ts';
import { streamUnderTest } from '../testing/stream-under-test.module.ts';
import { Connections, type Connection } from './connections.ts';

/** Connections whose clients read at once. */
const drained = async (count: number): Promise<number[]> => {
  const connections = new Connections(Infinity);
  const told: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const emit = (_name: string, { reconnectAfterMs }: { reconnectAfterMs: number }) => told.push(reconnectAfterMs);
    const disconnect = () => {
      connections.remove(connection);
    };
    const connection = { emit, bytesUnsent: 0, disconnect } as unknown as Connection;
    connections.add(connection);
  }
  await connections.drain();
  expect(connections.count).toBe(0);
  return told;
};

describe('a node that stops', () => {
  it('spreads its clients over 5 s, and a crowd over as long as another node needs to accept it', async () => {
    expect((await drained(4)).toSorted((one, other) => one - other)).toEqual([1_250, 2_500, 3_750, 5_000]);
    const crowd = await drained(10_000);
    const perSecond = Map.groupBy(crowd, (afterMs) => Math.ceil(afterMs / 1_000));
    expect(perSecond.size).toBe(20);
    for (const together of perSecond.values()) expect(together).toHaveLength(500);
  });

  it('interrupts each of many clients once, which then have every event once', async () => {
    await using stream = await streamUnderTest();
    const contractAddress = await stream.registerContract();
    const clients = await Promise.all(Array.from({ length: 40 }, () => stream.connect()));
    for (const client of clients) await client.subscribe(contractAddress);
    const publish = async (from: number, until: number) => {
      for (let block = from; block < until; block += 1)
        stream.catcher.store('observed', aRecord({ contractAddress, block }));
      await stream.catcher.publish();
    };
    await publish(0, 20);
    for (const client of clients) await client.waitForEvents(20);
    // What is published while the node stops, or after that, comes from the next one.
    await Promise.all([stream.restart(), publish(20, 30)]);
    const blocks = await Promise.all(
      clients.map(async (client) => {
        await client.waitForDisconnect();
        expect(client.messages.filter(({ name }) => name === 'draining')).toHaveLength(1);
        const again = await stream.connect();
        await again.subscribe(contractAddress, { cursor: client.events.at(-1)?.cursor });
        await again.waitForMessage('live');
        return [...client.events, ...again.events].map(({ event }) => event.BlockNumber);
      }),
    );
    for (const ofClient of blocks) expect(ofClient).toEqual([...Array(30).keys()]);
  });
});
