import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aRecord, CHAIN_ID } from '../testing/fake-catcher.ts';
import { streamUnderTest } from '../testing/stream-under-test.module.ts';

describe('resuming', () => {
  let stream: Awaited<ReturnType<typeof streamUnderTest>>;
  beforeAll(async () => {
    stream = await streamUnderTest();
  });
  afterAll(() => stream.close());

  it('from any event gives exactly the rest of the uninterrupted stream, also on another node', async () => {
    const contractAddress = await stream.registerContract();
    const continuous = await stream.connect();
    const { cursor: beginning } = await continuous.subscribe(contractAddress);
    for (let block = 1; block <= 20; block += 1) await stream.catcher.observe(aRecord({ contractAddress, block }));
    stream.catcher.store('reverted', aRecord({ contractAddress, block: 20 }));
    stream.catcher.store('reverted', aRecord({ contractAddress, block: 19 }));
    stream.catcher.store('observed', aRecord({ contractAddress, block: 19, fork: 'b' }));
    stream.catcher.store('observed', aRecord({ contractAddress, block: 20 }));
    await stream.catcher.project();
    await stream.catcher.publish();
    const all = await continuous.waitForEvents(24);
    expect(all.slice(20).map(({ change, event }) => [change, event.BlockNumber, event.Status])).toEqual([
      ['reverted', 20, 'reverted'],
      ['reverted', 19, 'reverted'],
      ['observed', 19, 'observed'],
      ['observed', 20, 'observed'],
    ]);
    const cursors = [beginning, ...all.map(({ cursor }) => cursor)];
    for (const restart of [false, true]) {
      if (restart) await stream.restart();
      const clients = await Promise.all(cursors.map(() => stream.connect()));
      for (const [index, cursor] of cursors.entries()) {
        const client = clients[index];
        const answer = await client?.subscribe(contractAddress, { cursor });
        expect(answer).toMatchObject({ cursor, state: 'catching_up' });
        await client?.waitForMessage('live');
        expect(client?.events).toEqual(all.slice(index));
        client?.close();
      }
    }
  });

  it('from the cursor of "live" gives the events after it', async () => {
    const contractAddress = await stream.registerContract();
    for (let block = 1; block <= 3; block += 1) await stream.catcher.observe(aRecord({ contractAddress, block }));
    const first = await stream.connect();
    await first.subscribe(contractAddress, { fromBlock: 2 });
    const { cursor } = await first.waitForMessage('live');
    expect(first.events.map(({ event }) => event.BlockNumber)).toEqual([2, 3]);
    expect(first.messages.at(-1)?.name).toBe('live');
    first.close();
    await stream.catcher.observe(aRecord({ contractAddress, block: 4 }));
    const second = await stream.connect();
    await second.subscribe(contractAddress, { cursor });
    await second.waitForMessage('live');
    expect(second.events.map(({ event }) => event.BlockNumber)).toEqual([4]);
  });

  it('from the cursor in the answer gives the history again, from its block on, on every node', async () => {
    const contractAddress = await stream.registerContract();
    for (let block = 1; block <= 3; block += 1) await stream.catcher.observe(aRecord({ contractAddress, block }));
    for (const finality of ['latest', 'finalized']) {
      const first = await stream.connect();
      const { cursor } = await first.subscribe(contractAddress, { fromBlock: 2, finality });
      await stream.restart();
      const second = await stream.connect();
      const answer = await second.subscribe(contractAddress, { cursor, finality });
      expect(answer).toMatchObject({ cursor, state: 'catching_up' });
      await stream.catcher.finalize(3);
      await stream.catcher.project();
      expect((await second.waitForEvents(2)).map(({ event }) => event.BlockNumber)).toEqual([2, 3]);
      await second.waitForMessage('live');
    }
  });

  it('is refused with both a cursor and a block', async () => {
    const contractAddress = await stream.registerContract();
    const client = await stream.connect();
    const { cursor } = await client.subscribe(contractAddress);
    const command = { chainId: CHAIN_ID, contractAddress, eventSignature: 'Transfer', cursor, fromBlock: 4 };
    expect(await client.refused('subscribe', command)).toMatchObject({
      code: 'validation_failed',
      detail: 'fromBlock: is not given together with cursor, which says by itself where to begin',
    });
  });

  it('is refused with the cursor of another channel, and with an invalid one', async () => {
    const [one, other] = [await stream.registerContract(), await stream.registerContract()];
    const client = await stream.connect();
    const { cursor } = await client.subscribe(one);
    for (const wrong of [cursor, 'x', 'A'.repeat(40)]) {
      const command = { chainId: CHAIN_ID, contractAddress: other, eventSignature: 'Transfer', cursor: wrong };
      expect((await client.refused('subscribe', command)).code).toBe('cursor_invalid');
    }
    const finalized = {
      chainId: CHAIN_ID,
      contractAddress: one,
      eventSignature: 'Transfer',
      finality: 'finalized',
      cursor,
    };
    expect((await client.refused('subscribe', finalized)).code).toBe('cursor_invalid');
  });

  it('gives nothing twice when the relay publishes again', async () => {
    const contractAddress = await stream.registerContract();
    const client = await stream.connect();
    const { cursor } = await client.subscribe(contractAddress);
    for (let block = 1; block <= 5; block += 1) await stream.catcher.observe(aRecord({ contractAddress, block }));
    await stream.catcher.publish({ repeat: 4 });
    await stream.catcher.observe(aRecord({ contractAddress, block: 6 }));
    await stream.catcher.publish({ repeat: 6 });
    await client.waitForEvents(6);
    await stream.restart();
    const late = await stream.connect();
    await late.subscribe(contractAddress, { cursor });
    await late.waitForMessage('live');
    for (const { events } of [client, late]) {
      expect(events.map(({ event }) => event.BlockNumber)).toEqual([1, 2, 3, 4, 5, 6]);
    }
  });
});
