import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { ChainReader } from '../../../shared/chain/chain-reader.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { MemoryReadStore } from '../../../shared/read-store/read-store.memory.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { Catching, mineSome } from '../testing/catching.ts';
import { overriding } from '../testing/overriding.ts';
import { ChainLoops } from './chain-loops.ts';
import { ProgressMeter } from './progress-meter.ts';

const logger = pino({ level: 'silent' });

describe('several event catchers on one chain', () => {
  it('follow it one at a time, and another takes over when that one stops: nothing is doubled or lost', async () => {
    const catching = new Catching();
    const { chain, store } = catching;
    const readStore = new MemoryReadStore();
    const settings = { chainId: chain.chainId, rpcUrls: ['http://127.0.0.1:1'], confirmations: 5 };
    const open = () => {
      const meter = new ProgressMeter(systemClock);
      const dependencies = { eventStore: store, readStore, clock: systemClock, ids: systemIds, meter, logger };
      const followed = new ChainLoops([{ settings, reader: chain, isDevelopment: false }], dependencies);
      followed.start();
      return followed;
    };
    mineSome(chain, 40);
    await catching.register();
    const catchers = [open(), open(), open()];
    const expectChain = () => eventually(() => catching.expectChain().then(() => true), 10_000, 'they must catch up');
    await expectChain();
    await eventually(() => catchers.every(({ areRunning }) => areRunning), 1_000, 'those that stand by must be ready');
    const replaced = async () => (await store.readAll(0, { types: ['FollowerReplaced'] }, 100)).events.length;
    const replacedAtFirst = await replaced();
    for (const [at, catcher] of catchers.entries()) {
      mineSome(chain, 6, 1_000 * (at + 1));
      await expectChain();
      chain.takeBack(2);
      mineSome(chain, 3, 1_000 * (at + 1) + 500);
      await catcher.stop();
      if (at < catchers.length - 1) await expectChain();
    }
    catchers.push(open());
    await expectChain();
    await catchers.at(-1)?.stop();
    expect((await readStore.lease(`chain ${String(chain.chainId)}`))?.holder).toBeNull();
    // Each gave its turn back with nothing under way.
    expect(await replaced()).toBe(replacedAtFirst);
  }, 60_000);
});

it('a chain that cannot be followed says why, and no longer once it can', async () => {
  const catching = new Catching();
  const { chain, store } = catching;
  mineSome(chain, 10);
  let isAway = true;
  const head = () => (isAway ? Promise.reject(new Error('no provider')) : chain.head());
  const reader = overriding<ChainReader>(chain, { head });
  const settings = { chainId: chain.chainId, rpcUrls: ['http://127.0.0.1:1'], confirmations: 5 };
  const meter = new ProgressMeter(systemClock);
  const engines = { eventStore: store, readStore: new MemoryReadStore() };
  const loops = new ChainLoops([{ settings, reader, isDevelopment: false }], {
    ...engines,
    clock: systemClock,
    ids: systemIds,
    meter,
    logger,
  });
  loops.start();
  await eventually(() => loops.errorOf(chain.chainId) === 'no provider', 5_000, 'it must say why');
  isAway = false;
  await eventually(() => loops.areRunning && loops.errorOf(chain.chainId) === null, 10_000, 'it must be followed');
  await loops.stop();
});
