import { describe, expect, it } from '@jest/globals';
import { streamEvent } from '../../../schemas/socket/stream-messages.ts';
import type { Delivery, Page } from '../domain/delivery.ts';
import { aRecord, newContract } from '../testing/fake-catcher.ts';
import { feedUnderTest } from '../testing/feed-under-test.ts';
import { currentRecords } from './current-records.ts';

const nextOf = async (pages: AsyncGenerator<Page, undefined>): Promise<Page> => {
  const { value } = await pages.next();
  if (!value) throw new Error('there are no more pages');
  return value;
};

describe('the current records of a channel', () => {
  it('are complete and without repeats when a reorganisation moves some while they are read', async () => {
    const { catcher, historyOptions, channelOf, close } = await feedUnderTest();
    const contractAddress = newContract();
    await catcher.register(contractAddress);
    const records = Array.from({ length: 600 }, (_, block) => aRecord({ contractAddress, block }));
    const stored = records.map((record) => catcher.store('observed', record));
    await catcher.project();
    const asOf = stored.at(-1)?.position;

    const pages = currentRecords(historyOptions, await channelOf(contractAddress), { fromBlock: 0 });
    const deliveries: Delivery[] = [...(await nextOf(pages)).deliveries];
    const firstPage = deliveries.length;
    for (const record of [records[10], records[550]]) if (record) catcher.store('reverted', record);
    for (const record of [records[10], records[550]]) if (record) catcher.store('observed', record);
    catcher.store('observed', aRecord({ contractAddress, block: 600 }));
    if (records[560]) catcher.store('reverted', records[560]);
    await catcher.project();
    let end: Page['end'] | undefined;
    for await (const page of pages) {
      deliveries.push(...page.deliveries);
      end = page.end;
    }
    await close();

    expect(firstPage).toBeLessThan(600);
    expect(deliveries.map(({ position }) => position).sort((left, right) => left - right)).toEqual(
      stored.map(({ position }) => position),
    );
    expect(end?.position).toBe(asOf);
  });

  it('have the status finalized up to the finalized block, once they are as new as that is', async () => {
    const { catcher, historyOptions, channelOf, close } = await feedUnderTest();
    const contractAddress = newContract();
    await catcher.register(contractAddress);
    const statuses = async () => {
      const found: string[] = [];
      for await (const { deliveries } of currentRecords(historyOptions, await channelOf(contractAddress), {
        fromBlock: 0,
      })) {
        found.push(...deliveries.map(({ json }) => streamEvent.parse(JSON.parse(json)).event.Status));
      }
      return found;
    };
    for (const block of [1, 2, 3]) catcher.store('observed', aRecord({ contractAddress, block }));
    await catcher.project();
    await catcher.finalize(2);
    expect(await statuses()).toEqual(['observed', 'observed', 'observed']);
    await catcher.project();
    expect(await statuses()).toEqual(['finalized', 'finalized', 'observed']);
    await close();
  });
});
