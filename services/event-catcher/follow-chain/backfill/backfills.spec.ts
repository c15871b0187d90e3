import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ChainUnavailable, type ChainReader } from '../../../../shared/chain/chain-reader.ts';
import { except } from '../../testing/follower/faulty-readers.ts';
import { transferWatch } from '../../testing/example-watches.ts';
import { FollowerUnderTest, mineSome, otherContract, transfer } from '../../testing/follower/follower-under-test.ts';
import { whileFollowing } from '../../testing/follower/while-following.ts';
import { overriding } from '../../testing/overriding.ts';

const contractOf = (index: number) => `0x${(index + 10).toString(16).padStart(40, '0')}`;

/** How long a request hangs before its provider is given up. */
const HANGS_MS = 3_000;

const refused = () => Promise.reject(new ChainUnavailable('refused'));

describe('the backfills of a chain', () => {
  let follower: FollowerUnderTest;
  beforeEach(() => {
    follower = new FollowerUnderTest();
  });
  afterEach(() => follower.stop());

  const registerMany = async (count: number, data: Parameters<FollowerUnderTest['register']>[0] = {}) => {
    for (let index = 0; index < count; index += 1) {
      await follower.register({ watchId: `wch_${String(index)}`, contractAddress: contractOf(index), ...data });
    }
  };
  const liveOnes = async () => {
    const joining = await follower.joining();
    return Array.from(follower.registered.keys()).filter((id) => !joining.includes(id));
  };
  const readTo = async (ids: readonly string[]) => {
    const contracts = ids.map((id) => follower.registered.get(id)?.contractAddress.toLowerCase() ?? '');
    const isRead = async (of: string) => (await follower.observed(of)).length === follower.recordsOnChain(of).length;
    await follower.until(
      async () => (await Promise.all(contracts.map(isRead))).every(Boolean),
      'all of their records must be stored',
    );
  };

  it('read ranges that begin at the same block together', () =>
    whileFollowing(follower, async () => {
      mineSome(follower.chain, 100);
      await registerMany(200);
      await follower.register();
      await follower.follow();
      expect(follower.chain.calls.filter((call) => call === 'logsOfRange').length).toBeLessThan(10);
      await follower.stop();
      mineSome(follower.chain, 700, 10_000);
      follower.chain.calls.length = 0;
      await follower.follow();
      expect(follower.chain.calls.filter((call) => call === 'logsOfRange').length).toBeLessThan(25);
    }));

  it('part those that fail together, so that only the ones at fault wait', async () => {
    mineSome(follower.chain, 60, 0, [contractOf(0), contractOf(3), contractOf(7)]);
    await registerMany(8);
    follower.start({ reader: except(follower.chain, () => [contractOf(3), contractOf(4)], refused) });
    const others = [0, 1, 2, 5, 6, 7].map((index) => `wch_${String(index)}`);
    await readTo(others);
    await follower.until(async () => (await liveOnes()).join() === others.join(), 'they must be live');
    expect(follower.starts).toBe(1);
  });

  it('show a watch as failed only if it is at fault itself, or nobody answers', async () => {
    await registerMany(40);
    const shown = new Set<string>();
    const failedOnes = () =>
      follower.meter.statuses().flatMap(({ watchIds, error }) => (error === null ? [] : watchIds));
    let isRefused = false;
    const lookAndRefuse = () => {
      for (const id of failedOnes()) shown.add(id);
      return refused();
    };
    const reader = except(follower.chain, () => (isRefused ? [contractOf(3)] : []), lookAndRefuse);
    follower.start({ reader });
    await follower.caughtUp();
    await follower.stop();
    mineSome(follower.chain, 700);
    isRefused = true;
    follower.start({ reader });
    const isAtHead = async () => (await follower.progress())?.head === follower.chain.tip.number;
    const isAlone = async () => (await isAtHead()) && (await follower.joining()).join() === 'wch_3';
    await follower.until(isAlone, 'the others must be live');
    isRefused = false;
    await follower.caughtUp();
    isRefused = true;
    mineSome(follower.chain, 3, 1_000, [contractOf(3), contractOf(4)]);
    await follower.until(isAlone, 'only the one at fault may fall behind');
    await follower.until(() => failedOnes().length > 0, 'it must be shown');
    expect([...shown]).toEqual(['wch_3']);
    isRefused = false;
    await follower.caughtUp();
  });

  it('of an app go on while those of another hang', () =>
    whileFollowing(follower, async () => {
      mineSome(follower.chain, 30);
      const hanging = Array.from({ length: 40 }, (_, index) => contractOf(index));
      for (const [index, contractAddress] of hanging.entries()) {
        await follower.register({ watchId: `wch_${String(index)}`, contractAddress, startBlock: index % 20 });
      }
      await follower.register({ appId: 'app_2' });
      let hangs = 0;
      const hang = () => {
        hangs += 1;
        return new Promise<never>((_, reject) => {
          setTimeout(reject, HANGS_MS, new ChainUnavailable('too slow'));
        });
      };
      follower.start({ reader: except(follower.chain, () => hanging, hang) });
      await readTo([transferWatch.watchId]);
      expect(hangs).toBeLessThan(20);
    }));

  it('of a watch that begins earlier wait alone for a provider that refuses its blocks in the window', async () => {
    await registerMany(2, { startBlock: 14 });
    mineSome(follower.chain, 15, 0, [contractOf(0), contractOf(1)]);
    let isRefused = false;
    const reader = except(follower.chain, () => (isRefused ? [contractOf(0)] : []), refused);
    follower.start({ reader });
    await follower.caughtUp();
    isRefused = true;
    await follower.extend(12, 'wch_0');
    await follower.extend(11, 'wch_1');
    await follower.register({ contractAddress: contractOf(2) });
    mineSome(follower.chain, 3, 1_000, [contractOf(1), contractOf(2)]);
    await readTo(['wch_1', transferWatch.watchId]);
    follower.chain.rollBack(5);
    mineSome(follower.chain, 9, 2_000, [contractOf(0), contractOf(1)]);
    await readTo(['wch_1', transferWatch.watchId]);
    isRefused = false;
    await follower.expectChain();
    expect(follower.starts).toBe(1);
  });

  it('ask for few blocks of the window at a time', async () => {
    follower = new FollowerUnderTest({ blocks: 210, confirmations: 200 });
    await follower.register();
    let asked = 0;
    let most = 0;
    const reader = overriding<ChainReader>(follower.chain, {
      logsOfBlock: async (header, filter) => {
        most = Math.max(most, (asked += 1));
        await Promise.resolve();
        asked -= 1;
        return follower.chain.logsOfBlock(header, filter);
      },
    });
    await follower.follow({ reader });
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(32);
  });

  it('take back what fails at the head, while the other watches and the head go on', async () => {
    await registerMany(5);
    await follower.register();
    let isRefused = false;
    follower.start({
      reader: except(follower.chain, () => (isRefused ? [contractOf(2)] : []), refused, ['logsOfBlock']),
    });
    await follower.caughtUp();
    isRefused = true;
    const mine = (value: number) =>
      follower.chain.mine([
        transfer(value),
        ...[1, 2, 3].map((index) => ({ ...transfer(value), address: contractOf(index) })),
      ]);
    for (let value = 1; value < 12; value += 1) mine(value);
    const others = ['wch_0', 'wch_1', 'wch_3', 'wch_4', transferWatch.watchId];
    await readTo(others);
    await follower.until(async () => (await liveOnes()).join() === others.join(), 'the others must be live');
    expect((await follower.progress())?.head).toBe(follower.chain.tip.number);
    follower.chain.rollBack(2);
    for (let value = 20; value < 23; value += 1) mine(value);
    await readTo(others);
    isRefused = false;
    await readTo(['wch_2']);
    await follower.expectChain();
    expect(follower.starts).toBe(1);
  });

  it('leave the head alone that no watch can be read at', async () => {
    await follower.register();
    let isRefused = false;
    const reader = except(
      follower.chain,
      () => (isRefused ? [transferWatch.contractAddress.toLowerCase()] : []),
      refused,
    );
    follower.start({ reader });
    await follower.caughtUp();
    isRefused = true;
    mineSome(follower.chain, 20);
    await follower.until(
      async () => (await follower.progress())?.head === follower.chain.tip.number,
      'the head must be followed',
    );
    await follower.register({ watchId: 'wch_other', contractAddress: otherContract });
    await follower.until(async () => (await liveOnes()).join() === 'wch_other', 'another must be added');
    isRefused = false;
    await follower.expectChain();
    expect(follower.starts).toBe(1);
  });
});
