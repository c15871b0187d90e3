import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { ChainUnavailable, type ChainReader } from '../../../../shared/chain/chain-reader.ts';
import { NewHeads } from '../../../../shared/chain/client/new-heads.websocket.ts';
import { chainSettings } from '../../../../shared/config/chain-settings.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import { MemoryReadStore } from '../../../../shared/testing/engines/read-store.memory.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { inSimulatedTime } from '../../../../shared/testing/simulation/simulated-globals.ts';
import { transferWatch } from '../../testing/example-watches.ts';
import { FollowerUnderTest, mineSome } from '../../testing/follower/follower-under-test.ts';
import { withHead } from '../../testing/follower/faulty-readers.ts';
import { overriding } from '../../testing/overriding.ts';
import { ChainLoops } from './chain-loops.ts';
import { ChainShares } from './chain-shares.ts';

const logger = pino({ level: 'silent' });
/** The name of the chain's lease. */
const NAME = 'chain 2484';

/** A chain of forty blocks, and event catchers that follow it. */
const world = () => {
  const follower = new FollowerUnderTest();
  const { chain, store } = follower;
  mineSome(chain, 40);
  const readStore = new MemoryReadStore();
  const settings = chainSettings.parse({
    chainId: chain.chainId,
    rpcUrls: ['http://127.0.0.1:1'],
    confirmations: 5,
  });
  const loops = ({ reader = chain, leases = readStore }: { reader?: ChainReader; leases?: MemoryReadStore } = {}) => {
    const most = { records: Infinity, blocks: Infinity };
    const always = { clock: systemClock, ids: systemIds, logger, most };
    const { chainId } = chain;
    const shares = new ChainShares({ ...always, chainIds: [chainId], catchers: { known: () => [] } });
    const dependencies = { ...always, shares, eventStore: store, readStore: leases };
    const followed = new ChainLoops(
      [{ settings, reader, newHeads: new NewHeads(), isDevelopment: false }],
      dependencies,
    );
    followed.loops.start();
    return Object.assign(followed, { shares });
  };
  return { follower, chain, store, readStore, loops };
};

const errorOf = (followed: ChainLoops) => followed.statusOf({ id: transferWatch.watchId, chainId: 2484 }).error;

describe('several event catchers on one chain', () => {
  it('follow it one at a time, and take over when one stops, without storing a record twice or losing one', () =>
    inSimulatedTime(async () => {
      const { follower, chain, store, readStore, loops } = world();
      await follower.register();
      const catchers = [loops(), loops(), loops()];
      const expectChain = () => eventually(() => follower.expectChain().then(() => true), 10_000, 'they must catch up');
      await expectChain();
      await eventually(
        () => catchers.every(({ loops: { areWorking } }) => areWorking),
        1_000,
        'those that stand by must be ready',
      );
      const replaced = async () => (await store.readAll(0, { types: ['FollowerReplaced'] }, 100)).events.length;
      const replacedAtFirst = await replaced();
      for (const [at, catcher] of catchers.entries()) {
        mineSome(chain, 6, 1_000 * (at + 1));
        await expectChain();
        chain.rollBack(2);
        mineSome(chain, 3, 1_000 * (at + 1) + 500);
        await catcher.loops.stop();
        if (at < catchers.length - 1) await expectChain();
      }
      catchers.push(loops());
      await expectChain();
      await catchers.at(-1)?.loops.stop();
      expect((await readStore.lease(NAME))?.holder).toBeNull();
      // Each catcher released its lease with no append in flight.
      expect(await replaced()).toBe(replacedAtFirst);
    }));
});

describe('a followed chain', () => {
  it('reports why it cannot be followed, until it can', () =>
    inSimulatedTime(async () => {
      const { chain, loops } = world();
      let isAway = true;
      const head = () => (isAway ? Promise.reject(new ChainUnavailable('no provider')) : chain.head());
      const followed = loops({ reader: withHead(chain, head) });
      await eventually(() => errorOf(followed) === 'no provider', 5_000, 'it must say why');
      expect(followed.shares.announcement).toEqual({
        chainIds: [chain.chainId],
        failing: [chain.chainId],
        followed: [],
      });
      isAway = false;
      await eventually(() => followed.loops.areWorking && errorOf(followed) === null, 10_000, 'it must be followed');
      expect(followed.shares.announcement.followed).toEqual([chain.chainId]);
      await followed.loops.stop();
      expect(followed.shares.announcement.followed).toEqual([]);
    }));

  it('tells nobody what an engine says, which may name its hosts', () =>
    inSimulatedTime(async () => {
      const { readStore, loops } = world();
      const lease = () => Promise.reject(new Error('connect ECONNREFUSED mongo-0.mongo.internal:27017'));
      const followed = loops({ leases: overriding(readStore, { lease }) });
      await eventually(() => errorOf(followed) !== null, 5_000, 'it must fail');
      const reason = 'a store of the event catcher does not answer, or it failed itself: its log says why';
      expect([errorOf(followed), followed.statuses()[0]?.error]).toEqual([reason, reason]);
      await followed.loops.stop();
    }));

  it('has no error here, nor have its watches, after another process took over', () =>
    inSimulatedTime(async () => {
      const { follower, chain, readStore, loops } = world();
      await follower.register();
      let looks = 0;
      const lease: MemoryReadStore['lease'] = (name) => {
        looks += 1;
        return readStore.lease(name);
      };
      const logsOfRange = () => Promise.reject(new ChainUnavailable('history pruned'));
      const followed = loops({
        reader: overriding<ChainReader>(chain, { logsOfRange }),
        leases: overriding(readStore, { lease }),
      });
      const told = 'history pruned: check "rpcUrls" of this chain in CHAINS';
      await eventually(() => errorOf(followed) === told, 5_000, 'the watch must be delayed');
      const replace = async () => {
        const held = await readStore.lease(NAME);
        return readStore.replaceLease(NAME, held, { holder: 'elsewhere/1/a', epoch: 2, renewals: 0 });
      };
      await eventually(replace, 1_000, 'another must get its lease');
      const before = looks;
      // The lease is read once to learn that it was lost, then on each wait.
      await eventually(() => looks >= before + 3, 5_000, 'it must stand by');
      expect(followed.loops.areWorking).toBe(true);
      expect(errorOf(followed)).toBeNull();
      await followed.loops.stop();
    }));
});
