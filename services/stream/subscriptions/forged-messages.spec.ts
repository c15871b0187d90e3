import { expect, it } from '@jest/globals';
import { topics } from '../../../schemas/topics.ts';
import { feedUnderTest, withinTicks } from '../testing/feed-under-test.ts';
import { aRecord, newContract } from '../testing/fake-catcher.ts';

it('a forged message stops no stream, is sent to nobody, and hides nothing of a replay, also not after a restart', async () => {
  const feed = await feedUnderTest();
  const contractAddress = newContract();
  await feed.catcher.register(contractAddress);
  const subscriber = await feed.subscribe(contractAddress);
  const observe = (block: number) => feed.catcher.observe(aRecord({ contractAddress, block }));
  const first = await observe(1);
  const [genuine] = feed.catcher.messages(0, 1);
  if (!genuine) throw new Error('there is a message');
  const headers = { ...genuine.headers, ce_position: String(first.position + 1_000_000_000_000) };
  await feed.messageBus.publish(topics.chainEvents, [
    { ...genuine, headers },
    { ...genuine, headers: { ...headers, ce_annalsmac: '' } },
  ]);
  const second = await observe(2);
  const positions = [first.position, second.position];
  const sentTo = async ({ buffer: { sent } }: typeof subscriber) => {
    await withinTicks(() => sent.length >= 2, 'both events must be sent');
    return sent.map(({ position }) => position);
  };
  expect(await sentTo(subscriber)).toEqual(positions);
  expect(feed.logged.filter(({ level }) => level === 40)).toHaveLength(1);

  await feed.restart();
  expect(await sentTo(await feed.subscribe(contractAddress, { fromBlock: 0 }))).toEqual(positions);
  const cursor = await feed.cursorOf(contractAddress, first.position);
  const resumed = await feed.subscribe(contractAddress, { cursor });
  const third = await observe(3);
  expect(await sentTo(resumed)).toEqual([second.position, third.position]);
  await feed.close();
});

/** Lets the event store know the newest change, which the fake catcher does not store there. */
const storesAll = ({ eventStore, catcher }: Awaited<ReturnType<typeof feedUnderTest>>): void => {
  eventStore.head = () => Promise.resolve(catcher.stored.at(-1)?.position ?? 0);
};

it('a true message that is published again hides nothing from those who resume', async () => {
  const feed = await feedUnderTest();
  const contractAddress = newContract();
  await feed.catcher.register(contractAddress);
  const positions: number[] = [];
  for (let block = 1; block <= 4; block += 1) {
    feed.clock.time += 3_600_000;
    positions.push((await feed.catcher.observe(aRecord({ contractAddress, block }))).position);
  }
  feed.clock.time += 3_600_000;
  const [copied] = feed.catcher.messages(0, 1);
  if (!copied) throw new Error('there is a message');
  const timestamp = feed.clock.now();
  // The first is not the relay's, and only has a time.
  const forged = { ...copied, headers: { ...copied.headers, ce_annalsmac: '' }, timestamp };
  const cursor = await feed.cursorOf(contractAddress, positions[1] ?? 0);
  for (const messages of [[{ ...copied, timestamp }], [copied], [forged, copied]]) {
    await feed.messageBus.publish(topics.chainEvents, messages);
    storesAll(feed);
    await feed.restart();
    const { buffer } = await feed.subscribe(contractAddress, { cursor });
    await withinTicks(() => buffer.sent.length >= 2, 'what followed the cursor must be sent');
    expect(buffer.sent.map(({ position }) => position)).toEqual(positions.slice(2));
  }
  await feed.close();
});

it('a lost message that a replay publishes late is skipped, and hides nothing; a whole topic that it brings back is read', async () => {
  for (const lost of [[1], [0, 1, 2, 3]]) {
    const feed = await feedUnderTest();
    const contractAddress = newContract();
    await feed.catcher.register(contractAddress);
    const stored = [1, 2, 3, 4].map((block) => feed.catcher.store('observed', aRecord({ contractAddress, block })));
    const positions = stored.map(({ position }) => position);
    await feed.catcher.project();
    const messages = feed.catcher.messages(0, 4);
    await feed.messageBus.publish(
      topics.chainEvents,
      messages.filter((_, at) => !lost.includes(at)),
    );
    feed.clock.time += 3_600_000;
    const timestamp = feed.clock.now();
    const replayed = messages.filter((_, at) => lost.includes(at)).map((message) => ({ ...message, timestamp }));
    await feed.messageBus.publish(topics.chainEvents, replayed);
    storesAll(feed);
    await feed.restart();
    const cursor = await feed.cursorOf(contractAddress, positions[0] ?? 0);
    const resumed = await feed.subscribe(contractAddress, { cursor });
    const expected = lost.length === 1 ? positions.slice(2) : positions.slice(1);
    await withinTicks(() => resumed.buffer.sent.length >= expected.length, 'what followed the cursor must be sent');
    expect(resumed.buffer.sent.map(({ position }) => position)).toEqual(expected);
    await feed.close();
  }
});
