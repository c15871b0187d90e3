import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chainEventsModel } from '../../../shared/read-models/event-catcher/chain-events.ts';
import { aRecord, newContract } from '../testing/fake-catcher.ts';
import { feedUnderTest, withinTicks } from '../testing/feed-under-test.ts';

/** How many of a user's lookups may be under way at a time. */
const LOOKUPS_MAX = 8;

describe('a subscription from a cursor that is older than every message', () => {
  const contractAddress = newContract();
  let feed: Awaited<ReturnType<typeof feedUnderTest>>;
  let cursors: string[];
  let lookups: (() => void)[];
  let areHeld: boolean;
  beforeEach(async () => {
    feed = await feedUnderTest();
    await feed.catcher.register(contractAddress);
    // The events before this position are others'.
    for (let at = 0; at < 2 * LOOKUPS_MAX; at += 1) await feed.catcher.finalize(0);
    await feed.catcher.observe(aRecord({ contractAddress, block: 1 }));
    const positions = Array.from({ length: LOOKUPS_MAX + 2 }, (_, position) => position);
    cursors = await Promise.all(positions.map((position) => feed.cursorOf(contractAddress, position)));
    [lookups, areHeld] = [[], true];
    const { readStore } = feed.historyOptions;
    const getMany = readStore.getMany.bind(readStore);
    readStore.getMany = async (collection, ids) => {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      if (collection === chainEventsModel.collections.count.name) {
        lookups.push(() => {
          resolve(undefined);
        });
        if (areHeld) await promise;
      }
      return getMany(collection, ids);
    };
  });
  afterEach(() => feed.close());
  const subscribe = (cursor = cursors[0], ...[subscriber]: [Parameters<typeof feed.subscribe>[3]?]) =>
    feed.subscribe(contractAddress, { cursor }, 8, subscriber);

  it('looks through stored records, of one user for eight at a time', async () => {
    const opening = cursors.map((cursor) => subscribe(cursor));
    await withinTicks(() => lookups.length >= LOOKUPS_MAX, 'eight lookups must begin');
    let ticks = 0;
    await withinTicks(() => ++ticks > 100, 'time must pass');
    expect(lookups).toHaveLength(LOOKUPS_MAX);
    for (let ended = 0; ended < opening.length; ended += 1) {
      await withinTicks(() => lookups.length > ended, 'the next lookup must begin');
      lookups[ended]?.();
    }
    for (const { emitted } of await Promise.all(opening)) expect(emitted[0]?.name).toBe('gap');
  });

  it('is refused as a repeat before any record is looked through', async () => {
    areHeld = false;
    const subscriber = await subscribe();
    await expect(subscribe(cursors[0], subscriber)).rejects.toMatchObject({ code: 'already_subscribed' });
    expect(lookups).toHaveLength(1);
  });
});
