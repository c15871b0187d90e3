import { beforeEach, describe, expect, it } from '@jest/globals';
import { SEGMENT_RECORDS } from '../../../shared/chain/identifiers/record-terms.ts';
import { topics } from '../../../schemas/topics.ts';
import { Projections } from '../../../shared/edge/answers/projections.ts';
import { MemoryMessageBus } from '../../../shared/testing/engines/message-bus.memory.ts';
import { inSimulatedTime } from '../../../shared/testing/simulation/simulated-globals.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import type { Channel } from '../domain/channel.ts';
import { aRecord, CHAIN_ID, FakeCatcher, newContract, TRANSFER } from '../testing/fake-catcher.ts';
import { firstChangedBlock } from './first-changed-block.ts';

describe('the first block that has changed since a position', () => {
  let catcher: FakeCatcher;
  let channel: Channel;
  let find: (after: number, until?: number) => Promise<number>;
  let leaving: AbortController;
  let yieldToOthers: () => Promise<void>;
  const contractAddress = newContract();
  const observe = (block: number) => catcher.store('observed', aRecord({ contractAddress, block })).position;
  beforeEach(async () => {
    const { readStore, eventStore, edgeKey } = await testFoundation();
    const messageBus = new MemoryMessageBus();
    await messageBus.createTopics(Object.values(topics));
    catcher = new FakeCatcher(messageBus, readStore, () => 0, edgeKey);
    const watchId = await catcher.register(contractAddress);
    channel = { watchId, chainId: CHAIN_ID, contractAddress, eventSignature: TRANSFER, finality: 'latest' };
    const options = {
      readStore,
      projections: new Projections(readStore, eventStore),
      yieldToOthers: () => yieldToOthers(),
    };
    leaving = new AbortController();
    yieldToOthers = () => Promise.resolve();
    find = (after, until = after) => firstChangedBlock(options, channel, { after, until }, leaving.signal);
  });

  it('is that of the first record in chain order that was observed since', async () => {
    observe(100);
    const older = observe(300);
    observe(200);
    observe(400);
    await catcher.project();
    expect(await find(0)).toBe(100);
    expect(await find(older)).toBe(200);
  });

  it('is that of a record that was reverted since, too', async () => {
    const record = aRecord({ contractAddress, block: 200 });
    observe(100);
    catcher.store('observed', record);
    const newest = observe(300);
    catcher.store('reverted', record);
    observe(400);
    await catcher.project();
    expect(await find(newest)).toBe(200);
  });

  it('may be told as an earlier one, if very many records before it have not changed', async () => {
    for (let block = 1_000; block < 1_000 + SEGMENT_RECORDS; block += 1) observe(block);
    const newest = observe(1);
    observe(20_000);
    await catcher.project();
    const found = await find(newest);
    expect(found).toBeGreaterThan(1_000);
    expect(found).toBeLessThan(1_000 + SEGMENT_RECORDS);
  });

  it('is the finalized one when nothing has changed', async () => {
    const newest = observe(7);
    await catcher.project();
    expect(await find(newest)).toBe(0);
    await catcher.finalize(6);
    expect(await find(newest)).toBe(6);
  });

  it('is looked for no further once nobody waits for it', async () => {
    for (let block = 1_000; block < 1_200; block += 1) observe(block);
    const newest = observe(1);
    observe(20_000);
    await catcher.project();
    let pages = 0;
    yieldToOthers = () => {
      pages += 1;
      leaving.abort(new Error('the client left'));
      return Promise.resolve();
    };
    await expect(find(newest)).rejects.toThrow('the client left');
    expect(pages).toBe(1);
  });

  it('is not told by a read model that is behind', async () => {
    const newest = observe(7);
    await inSimulatedTime(() => expect(find(0, newest)).rejects.toMatchObject({ code: 'not_caught_up' }));
  });
});
