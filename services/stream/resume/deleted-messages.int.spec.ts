import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { contractKey, topics } from '../../../schemas/topics.ts';
import { SqliteMessageBus } from '../../../shared/message-bus/embedded/message-bus.sqlite.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { aRecord, CHAIN_ID } from '../testing/fake-catcher.ts';
import { streamUnderTest } from '../testing/stream-under-test.module.ts';

const DAY_MS = 86_400_000;
const folder = temporaryFolder();

describe('a cursor in a topic whose oldest messages are deleted', () => {
  const messageBus = new SqliteMessageBus(join(folder, 'bus.db'));
  let stream: Awaited<ReturnType<typeof streamUnderTest>>;
  let contractAddress: string;
  let cursors: string[];
  beforeAll(async () => {
    stream = await streamUnderTest({ messageBus });
    contractAddress = await stream.registerContract();
    const record = (block: number) => aRecord({ contractAddress, block });
    for (const block of [1, 2, 3, 4]) stream.catcher.store('observed', record(block), Date.now() - 8 * DAY_MS);
    for (const block of [5, 6]) stream.catcher.store('observed', record(block));
    await stream.catcher.project();
    await stream.catcher.publish();
    await stream.restart();
    const client = await stream.connect();
    await client.subscribe(contractAddress, { fromBlock: 0 });
    cursors = (await client.waitForEvents(6)).map(({ cursor }) => cursor);
  });
  afterAll(async () => {
    await stream.close();
    await messageBus.close();
  });
  const resume = async (cursor: string | undefined) => {
    const client = await stream.connect();
    const { subscriptionId } = await client.subscribe(contractAddress, { cursor });
    await client.waitForMessage('live');
    const gap = client.messages.find((sent) => sent.name === 'gap')?.message;
    return { subscriptionId, gap, blocks: client.events.map(({ event }) => event.BlockNumber) };
  };

  it('is answered with a gap when messages after it are deleted, and goes on with the stored ones', async () => {
    for (const [index, requested] of cursors.slice(0, 3).entries()) {
      const { subscriptionId, gap, blocks } = await resume(requested);
      expect(gap).toMatchObject({ subscriptionId, requested, resumeWith: gap?.earliest, fromBlock: index + 2 });
      expect(blocks).toEqual([5, 6]);
      expect(await resume(gap?.resumeWith)).toMatchObject({ gap: undefined, blocks: [5, 6] });
    }
  });

  it('is answered without a gap when the message of its event is stored', async () => {
    expect(await resume(cursors[4])).toMatchObject({ gap: undefined, blocks: [6] });
    expect(await resume(cursors[5])).toMatchObject({ gap: undefined, blocks: [] });
  });

  it('is answered without a gap when it was "now" lately, though no message before it is stored', async () => {
    const partitionOf = (address: string) => messageBus.partitionOf(topics.chainEvents, contractKey(CHAIN_ID, address));
    let quiet = await stream.registerContract();
    while (partitionOf(quiet) === partitionOf(contractAddress)) quiet = await stream.registerContract();
    const client = await stream.connect();
    const { cursor } = await client.subscribe(quiet);
    for (const block of [1, 2]) await stream.catcher.observe(aRecord({ contractAddress: quiet, block }));
    await client.waitForEvents(2);
    await stream.restart();
    const late = await stream.connect();
    await late.subscribe(quiet, { cursor });
    await late.waitForMessage('live');
    const names = late.messages.map(({ name }) => name);
    // A catcher that seems silent on a busy machine is told as a state.
    expect(names.filter((name) => name !== 'state')).toEqual(['event', 'event', 'live']);
  });
});
