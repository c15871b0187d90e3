import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ChainUnavailable, type ChainReader } from '../../../../shared/chain/chain-reader.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { except, withholding, type Withholding } from '../../testing/follower/faulty-readers.ts';
import { approvalWatch, transferWatch } from '../../testing/example-watches.ts';
import { contract, FollowerUnderTest, mineSome, otherContract } from '../../testing/follower/follower-under-test.ts';
import { overriding } from '../../testing/overriding.ts';

const FINAL_DEPTH = 5;
const elsewhere = { ...transferWatch, watchId: 'wch_elsewhere', contractAddress: otherContract };

describe('the verification of a chain', () => {
  let follower: FollowerUnderTest;
  beforeEach(async () => {
    follower = new FollowerUnderTest({ confirmations: FINAL_DEPTH });
    follower.verifiedEveryMs = 1;
    mineSome(follower.chain, 60, 0, [contract, otherContract]);
    await follower.register();
  });
  afterEach(() => follower.stop());

  /** By then every block with logs is final. */
  const mineFinal = () => {
    for (let block = 0; block < FINAL_DEPTH; block += 1) follower.chain.mine([]);
  };
  const allFrom = (block: number) =>
    follower.recordsOnChain().filter((record) => Number(record.split(' ')[1]) >= block);
  /** Runs without verification until the follower has caught up, while a provider withholds everything. */
  const caughtUpWithout = async (has: Withholding['has']): Promise<ChainReader> => {
    follower.verifiedEveryMs = 3_600_000;
    const withheld = { left: Infinity, has };
    follower.start({ reader: withholding(follower.chain, { ...withheld, has: 'another' }) });
    await follower.caughtUp();
    expect(await follower.observed()).toEqual([]);
    await follower.stop();
    follower.verifiedEveryMs = 1;
    return withholding(follower.chain, withheld);
  };
  /** Counts the requests for cross-checked logs. */
  const counted = () => {
    const asked: string[] = [];
    const reader = overriding<ChainReader>(follower.chain, {
      crossCheckedLogs: (from, to, filter) => {
        asked.push(`${String(from)}-${String(to)} ${filter.addresses.join()}`);
        return follower.chain.crossCheckedLogs(from, to, filter);
      },
    });
    return { reader, asked };
  };

  it.each(['blooms', 'another'] as const)('finds what was withheld, by %s, as soon as it is final', async (has) => {
    await caughtUpWithout(has);
    follower.start();
    await follower.verified();
    const final = follower.chain.tip.number - FINAL_DEPTH;
    expect((await follower.observed()).sort()).toEqual(
      follower
        .recordsOnChain()
        .filter((record) => !allFrom(final + 1).includes(record))
        .sort(),
    );
    expect(new Set((await follower.changes()).map(({ data }) => data.Origin))).toEqual(new Set(['replay']));
    mineSome(follower.chain, FINAL_DEPTH, 1_000);
    await follower.verified();
    await follower.expectChain({ isOrdered: false });
  });

  it('goes on where it was, and stores nothing for what it has verified', async () => {
    follower.start();
    await follower.verified();
    await follower.stop();
    const { reader, asked } = counted();
    follower.start({ reader });
    mineSome(follower.chain, 1, 1_000);
    await follower.verified();
    const first = follower.chain.tip.number - FINAL_DEPTH;
    expect(asked.map((one) => one.split('-')[0])).toEqual([String(first)]);
    await follower.expectChain();
  });

  it('verifies what a watch was extended by', async () => {
    await follower.register({ ...approvalWatch, startBlock: 30 });
    follower.start({ reader: withholding(follower.chain, { left: Infinity, has: 'another' }) });
    await follower.verified();
    await follower.extend(5, approvalWatch.watchId);
    await follower.verified();
    mineFinal();
    await follower.verified();
    await follower.expectChain({ isOrdered: false });
  });

  it('begins anew when a development chain does', async () => {
    await follower.stop();
    follower = new FollowerUnderTest({ confirmations: FINAL_DEPTH, isDevelopment: true });
    follower.verifiedEveryMs = 1;
    mineSome(follower.chain, 60);
    await follower.register();
    follower.start();
    await follower.verified();
    await follower.stop();
    follower.chain.rollBack(60);
    mineSome(follower.chain, 60, 5_000);
    follower.start({ reader: withholding(follower.chain, { left: Infinity, has: 'another' }) });
    await follower.verified();
    mineFinal();
    await follower.verified();
    await follower.expectChain({ isOrdered: false });
  });

  it('waits for a watch that it knows, and the progress after a crash does not', async () => {
    await follower.extend(0);
    const verified = { chainId: 2484, verified: 0, behind: [], watchesUpTo: (await follower.store.head()) + 10 };
    await follower.store.append('chain-2484-verified', -1, [anEvent({ type: 'ChainVerified', data: verified })]);
    follower.start();
    const hasHead = async () => (await follower.progress())?.head === follower.chain.tip.number;
    for (let block = 0; block < 5; block += 1) {
      await follower.until(hasHead, 'the head must be followed');
      mineSome(follower.chain, 1, 1_000 + block);
    }
    await follower.until(hasHead, 'the head must be followed');
    expect(await follower.verification()).toEqual(verified);
    await follower.stop();
    await follower.register({ watchId: 'wch_other', contractAddress: otherContract });
    follower.start({ reader: withholding(follower.chain, { left: Infinity, has: 'another' }) });
    mineSome(follower.chain, FINAL_DEPTH, 2_000);
    await follower.caughtUp();
    await follower.verified();
    mineFinal();
    await follower.verified();
    await follower.expectChain({ isOrdered: false });
  });

  it('lets progress be stored after a crash right behind a correction', async () => {
    await caughtUpWithout('another');
    await follower.runUntilKilled(2);
    const corrected = await follower.observed();
    expect(corrected.length).toBeGreaterThan(0);
    follower.verifiedEveryMs = 3_600_000;
    follower.start();
    mineSome(follower.chain, 1, 1_000);
    await follower.caughtUp();
    await follower.stop();
    follower.verifiedEveryMs = 1;
    follower.start();
    mineSome(follower.chain, FINAL_DEPTH, 2_000);
    await follower.verified();
    await follower.expectChain({ isOrdered: false });
  });

  it('reverts a final record that is not on the chain, once', async () => {
    const { chain } = follower;
    const inventing = overriding<ChainReader>(chain, {
      logsOfRange: async (...asked) => {
        const logs = await chain.logsOfRange(...asked);
        return logs.flatMap((log) => (log.logIndex === 0 ? [log, { ...log, logIndex: 99 }] : [log]));
      },
    });
    follower.start({ reader: inventing });
    await follower.verified();
    await follower.expectChain();
    const invented = (await follower.changes()).filter(({ data }) => data.LogIndex === 99).map(({ type }) => type);
    expect(invented.length).toBeGreaterThan(0);
    expect(invented.filter((type) => type === 'ChainEventReverted')).toHaveLength(invented.length / 2);
  });

  it('reads nothing for a watch that is stopped, until it is resumed', async () => {
    await follower.register(elsewhere);
    follower.start();
    await follower.verified();
    await follower.stopWatch(elsewhere.watchId);
    await follower.caughtUp();
    await follower.stop();
    const { reader, asked } = counted();
    follower.start({ reader });
    mineSome(follower.chain, 3, 1_000, [contract, otherContract]);
    await follower.verified();
    expect(asked.filter((one) => one.includes(otherContract))).toEqual([]);
    const before = (await follower.verification())?.behind.map(({ watchIds }) => watchIds).flat();
    expect(before).toEqual([elsewhere.watchId]);
    await follower.readAgain(elsewhere.watchId);
    await follower.verified();
    expect(asked.filter((one) => one.includes(otherContract)).length).toBeGreaterThan(0);
  });

  it('reads blocks again that are verified, once, when somebody wants it, also through a crash', async () => {
    follower.start();
    await follower.verified();
    await follower.stop();
    const { reader, asked } = counted();
    await follower.replay(10, 30);
    await follower.runUntilKilled(1, true, reader);
    follower.start({ reader });
    await follower.verified();
    const read = asked.filter((one) => !one.includes(otherContract)).map((one) => one.split(' ')[0]);
    expect(read[0]?.startsWith('10-')).toBe(true);
    expect(read.at(-1)?.endsWith('-30')).toBe(true);
    await follower.stop();
    asked.length = 0;
    follower.start({ reader });
    mineSome(follower.chain, 1, 1_000);
    await follower.verified();
    expect(asked).toHaveLength(1);
    await follower.expectChain();
  });

  it('goes on with a replay that another process has heard of', async () => {
    follower.start();
    await follower.verified();
    await follower.stop();
    await follower.replay(10, 30);
    const crossCheckedLogs = () => Promise.reject(new ChainUnavailable('no provider answers'));
    follower.start({ reader: overriding<ChainReader>(follower.chain, { crossCheckedLogs }) });
    const replays = async () => (await follower.verification())?.replays;
    const isHeard = async () => (await replays()) !== undefined;
    await follower.until(isHeard, 'the replay must be known');
    await follower.stop();
    expect(await replays()).toEqual([{ watchId: transferWatch.watchId, next: 10, to: 30 }]);
    const { reader, asked } = counted();
    follower.start({ reader });
    await follower.verified();
    expect([asked[0]?.startsWith('10-'), asked.at(-1)?.split(' ')[0]?.endsWith('-30')]).toEqual([true, true]);
    expect(await replays()).toBeUndefined();
  });

  it('stores what a replay finds, as replayed, and does it for a paused watch once that is resumed', async () => {
    await caughtUpWithout('another');
    const verified = { chainId: 2484, verified: 55, behind: [], watchesUpTo: await follower.store.head() };
    await follower.store.append('chain-2484-verified', -1, [anEvent({ type: 'ChainVerified', data: verified })]);
    await follower.stopWatch();
    await follower.replay(10, 30);
    follower.start();
    await follower.caughtUp();
    expect(await follower.observed()).toEqual([]);
    await follower.readAgain();
    await follower.verified();
    const blocks = (await follower.changes()).map(({ data }) => [data.BlockNumber, data.Origin] as const);
    const replayed = blocks.filter(([, origin]) => origin === 'replay').map(([block]) => block);
    expect([Math.min(...replayed), Math.max(...replayed)]).toEqual([11, 30]);
  });

  it('begins with the lowest block of the watches that are behind', async () => {
    await follower.register(elsewhere);
    follower.verifiedEveryMs = 3_600_000;
    follower.start();
    await follower.caughtUp();
    await follower.stop();
    follower.verifiedEveryMs = 1;
    const behind = [
      { watchIds: [elsewhere.watchId], next: 30 },
      { watchIds: [transferWatch.watchId], next: 10 },
    ];
    const watchesUpTo = (await follower.progress())?.watchesUpTo ?? 0;
    const verified = { chainId: 2484, verified: 55, behind, watchesUpTo };
    await follower.store.append('chain-2484-verified', -1, [anEvent({ type: 'ChainVerified', data: verified })]);
    const { reader, asked } = counted();
    follower.start({ reader });
    await follower.verified();
    expect(asked[0]).toMatch(/^10-/);
  });

  it('is said to stand still once it has failed three times in a row, until it succeeds', async () => {
    const warning = () => follower.meter.warningOf(transferWatch.watchId);
    const warnings: (string | null)[] = [];
    const reader = overriding<ChainReader>(follower.chain, {
      crossCheckedLogs: (...asked) => {
        warnings.push(warning());
        if (warnings.length <= 3) return Promise.reject(new ChainUnavailable('no provider answers'));
        return follower.chain.crossCheckedLogs(...asked);
      },
    });
    follower.start({ reader });
    await follower.verified();
    const said = expect.stringContaining('cannot be verified: no provider answers');
    expect(warnings.slice(0, 4)).toEqual([null, null, null, said]);
    expect(warning()).toBeNull();
  });

  it('verifies the others where one cannot be read', async () => {
    await follower.register(elsewhere);
    await follower.register(approvalWatch);
    const reader = except(follower.chain, () => [otherContract], undefined, ['crossCheckedLogs']);
    follower.start({ reader });
    const behind = async () => (await follower.verification())?.behind ?? [];
    const isAlone = async () => {
      const ids = (await behind()).flatMap(({ watchIds }) => watchIds);
      return ids.length === 1 && ids[0] === elsewhere.watchId;
    };
    await follower.until(isAlone, 'only the one that cannot be read may be behind');
    expect((await follower.verification())?.verified).toBe(follower.chain.tip.number - FINAL_DEPTH);
  });

  it('goes on with the chain while what is stored cannot be read, and verifies afterwards', async () => {
    follower.isReadStoreAway = true;
    follower.start();
    await follower.caughtUp();
    mineSome(follower.chain, 3, 1_000);
    await follower.expectChain();
    expect((await follower.verification())?.behind).not.toEqual([]);
    expect(follower.starts).toBe(1);
    follower.isReadStoreAway = false;
    await follower.verified();
  });
});
