import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BlocksRefused, type ChainReader } from '../../../../shared/chain/chain-reader.ts';
import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import { transferWatch } from '../../testing/example-watches.ts';
import { withoutBlocks } from '../../testing/follower/faulty-readers.ts';
import { withoutProgress } from '../../testing/follower/faulty-stores.ts';
import { overriding } from '../../testing/overriding.ts';
import { FollowerUnderTest, mineSome } from '../../testing/follower/follower-under-test.ts';
import { whileFollowing } from '../../testing/follower/while-following.ts';
import { REASON_MAX } from './leave-unread.ts';

const { watchId } = transferWatch;
const isBefore = (first: number) => (block: number) => block < first;

describe('blocks that no provider gives any more', () => {
  let follower: FollowerUnderTest;
  beforeEach(() => {
    follower = new FollowerUnderTest();
    follower.verifiedEveryMs = 1;
    mineSome(follower.chain, 100);
  });
  afterEach(() => follower.stop());

  const start = (isMissing: (block: number) => boolean, reader: ChainReader = follower.chain) =>
    follower.start({ reader: withoutBlocks(reader, isMissing) });
  const gaps = async () =>
    (await follower.progress())?.backfills.flatMap(({ next, to, gap }) => (gap ? [[next, to]] : [])) ?? [];
  const recordsIn = (isThere: (block: number) => boolean) =>
    follower.recordsOnChain().filter((record) => isThere(Number(record.split(' ')[1])));
  /** Everything that the provider has is stored, and nothing else. */
  const stored = (isThere: (block: number) => boolean) =>
    follower.until(
      async () => (await follower.observed()).toSorted().join() === recordsIn(isThere).toSorted().join(),
      'all that is there must be stored',
    );
  const skips = (blocks: unknown) =>
    follower.until(
      async () => isDeepStrictEqual((await follower.verification())?.skipped, blocks),
      'what cannot be verified must be told, and no more',
    );
  const verifiedAll = () => follower.until(() => follower.isVerified(), 'what is there must be verified');

  it('are a gap that survives a restart, behind which the watch is live and verified', async () => {
    await follower.register();
    start(isBefore(50));
    await follower.caughtUp();
    expect(await gaps()).toEqual([[0, 49]]);
    expect((await follower.progress())?.backfills).toMatchObject([
      {
        joins: false,
        gap: { reason: expect.stringContaining('pruned history unavailable'), since: expect.any(String) },
      },
    ]);
    expect(follower.meter.errorOf(watchId)).toBeNull();
    mineSome(follower.chain, 20, 5_000);
    await stored((block) => block >= 50);
    await verifiedAll();
    expect((await follower.verification())?.skipped).toEqual([{ watchIds: [watchId], next: 0, to: 49 }]);
    await follower.stop();
    start(isBefore(50));
    mineSome(follower.chain, 5, 6_000);
    await stored((block) => block >= 50);
    expect(await gaps()).toEqual([[0, 49]]);
  });

  it('have a reason that takes few bytes, whatever a provider says', async () => {
    const reason = `provider 1: ${'\u0000"\\許'.repeat(100)}`;
    const refused = new BlocksRefused(reason, { reason, isPrunedEverywhere: true });
    const reader = overriding<ChainReader>(follower.chain, {
      logsOfRange: (from, ...asked) =>
        from < 50 ? Promise.reject(refused) : follower.chain.logsOfRange(from, ...asked),
    });
    await follower.register();
    follower.start({ reader });
    await follower.caughtUp();
    const [gap] = (await follower.progress())?.backfills ?? [];
    expect(Buffer.byteLength(JSON.stringify(gap?.gap?.reason))).toBeLessThanOrEqual(REASON_MAX + 4);
    expect(gap?.gap?.reason).toContain("provider 1:  ''許");
  });

  it('are read, and verified, once a provider has them again', async () => {
    await follower.register();
    start(isBefore(50));
    await follower.caughtUp();
    await verifiedAll();
    await follower.stop();
    start(isBefore(20));
    await stored((block) => block >= 20);
    expect(await gaps()).toEqual([[0, 19]]);
    await skips([{ watchIds: [watchId], next: 0, to: 19 }]);
    await follower.stop();
    start(() => false);
    await stored(() => true);
    await follower.caughtUp();
    expect(await gaps()).toEqual([]);
    await skips(undefined);
    await verifiedAll();
  });

  it('are verified, once they are read, also where nobody wants those before them any more', async () => {
    await follower.register();
    start(isBefore(50));
    await follower.caughtUp();
    await verifiedAll();
    await follower.shorten(40);
    await follower.stop();
    start(isBefore(30));
    await stored((block) => block >= 40);
    await skips([{ watchIds: [watchId], next: 0, to: 39 }]);
  });

  it('that were read in part, and then are gone again, hold up no progress', async () => {
    await follower.register();
    start(isBefore(50));
    await follower.caughtUp();
    await follower.stop();
    let isReadInPart = false;
    const dead = withoutProgress(follower.store);
    const append: EventStore['append'] = (stream, revision, events) => {
      isReadInPart ||= events[0]?.type === 'ChainEventObserved';
      return (isReadInPart ? dead : follower.store).append(stream, revision, events);
    };
    follower.start({ store: overriding<EventStore>(follower.store, { append }) });
    const later = recordsIn((block) => block >= 50).length;
    await follower.until(async () => (await follower.observed()).length > later, 'blocks of the gap must be read');
    await follower.stop();
    follower.nothingInFlightBefore = false;
    start(isBefore(50));
    mineSome(follower.chain, 5, 8_000);
    await follower.caughtUp();
    await stored((block) => block >= 50);
  });

  it('of which only some are refused still are verified where they are not', async () => {
    let first = 50;
    const missing = (block: number) => block < first;
    await follower.register();
    follower.verifiedEveryMs = 3_600_000;
    start(missing);
    await follower.caughtUp();
    await follower.stop();
    start(() => false);
    await stored(() => true);
    await follower.stop();
    follower.verifiedEveryMs = 1;
    first = 20;
    start(missing);
    const isRest = async () => (await follower.verification())?.skipped?.[0]?.to === 19;
    await follower.until(isRest, 'what is there must be verified');
  });

  it('end a replay of them at once, and what was verified before stays so', async () => {
    await follower.register();
    start(() => false);
    await follower.verified();
    await follower.stop();
    start(isBefore(50));
    await follower.replay(0, 90);
    const isOver = async () => (await follower.verification())?.replays === undefined;
    await follower.until(async () => (await follower.isVerified()) && isOver(), 'the replay must end');
    await skips(undefined);
    await stored(() => true);
  });

  it('are one gap to the end where there are very many here and there', () =>
    whileFollowing(follower, async () => {
      mineSome(follower.chain, 100, 7_000);
      const isMissing = (block: number) => block % 2 === 0;
      await follower.register();
      start(isMissing);
      await follower.caughtUp();
      const found = await gaps();
      expect([found.length, found.at(-1)]).toEqual([51, [100, 195]]);
      mineSome(follower.chain, 10, 9_000);
      await stored((block) => block > 195 || (block < 100 && !isMissing(block)));
    }));

  it('are found between others', () =>
    whileFollowing(follower, async () => {
      const isMissing = (block: number) => (10 <= block && block < 17) || block === 40 || (60 <= block && block < 80);
      await follower.register();
      start(isMissing);
      await follower.caughtUp();
      expect(await gaps()).toEqual([
        [10, 16],
        [40, 40],
        [60, 79],
      ]);
      await stored((block) => !isMissing(block));
      await verifiedAll();
    }));

  it('of an extension backwards change nothing of the watch, however many watches it has', async () => {
    await follower.register({ startBlock: 60 });
    await follower.register({ watchId: 'wch_other', startBlock: 70 });
    start(isBefore(30));
    await follower.caughtUp();
    await follower.extend(0);
    await follower.extend(10, 'wch_other');
    await follower.until(async () => (await gaps()).length === 2, 'both must have a gap');
    await stored((block) => block >= 30);
    expect(follower.starts).toBe(1);
  });

  it('are no gap once nobody wants them, nor is what was not read before they were wanted again', async () => {
    await follower.register();
    start(isBefore(50));
    await follower.caughtUp();
    await follower.shorten(60);
    await follower.caughtUp();
    await verifiedAll();
    mineSome(follower.chain, 10, 5_000);
    const records = () => recordsIn((block) => block >= 60);
    const isStored = async () => {
      const observed = await follower.observed();
      return records().every((record) => observed.includes(record));
    };
    await follower.until(isStored, 'the watch must go on');
    await follower.stop();
    start(() => false);
    await follower.extend(20);
    await follower.until(
      async () =>
        (await follower.observed()).toSorted().join() ===
        recordsIn((block) => block >= 20)
          .toSorted()
          .join(),
      'what is wanted again must be stored once',
    );
  });

  it('are never read of a watch that begins later before anything of it was read', () =>
    whileFollowing(follower, async () => {
      await follower.register();
      await follower.shorten(60);
      let earliest = Infinity;
      const missing = (block: number) => {
        earliest = Math.min(earliest, block);
        return block < 60;
      };
      start(missing);
      await stored((block) => block >= 60);
      expect(earliest).toBe(60);
      await follower.extend(30);
      await follower.until(async () => (await gaps()).length > 0, 'they must be asked for now');
      expect(earliest).toBe(30);
    }));
});
