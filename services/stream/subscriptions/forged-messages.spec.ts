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
