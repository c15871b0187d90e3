import { describe, expect, it } from '@jest/globals';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import { MemoryEventStore } from '../../../../shared/testing/engines/event-store.memory.ts';
import { following, followSettings } from '../../testing/follower/following.ts';
import { inSimulatedTime } from '../../../../shared/testing/simulation/simulated-globals.ts';
import { ProgressMeter } from '../chains/progress-meter.ts';

const MINUTE_MS = 60_000;
const SOON_MS = 20_000;
const NO_BLOCK = 'there has been no new block for 5 minutes';
const OTHER_HISTORY = 'chain 2484: no provider has the block that was final: check its RPC endpoints';

interface World {
  chain: MemoryChain;
  meter: ProgressMeter;
  /** How often the follower reported that it runs. */
  reports: () => number;
  pause: (ms: number) => Promise<void>;
  /** Ends one follower and begins another one. */
  restart: () => Promise<void>;
}

/** Follows a chain of thirty blocks, in simulated time. */
const whileFollowed = (test: (world: World) => Promise<void>, isDevelopment = false): Promise<void> => {
  return inSimulatedTime(async (time) => {
    const chain = new MemoryChain(2484);
    for (let block = 0; block < 30; block += 1) chain.mine([]);
    const meter = new ProgressMeter(time);
    const settings = followSettings({ isDevelopment, pollMs: 500, pollMsMax: 15_000 });
    const run = following(settings, { eventStore: new MemoryEventStore(), reader: chain, meter });
    let reports = 0;
    const start = () => {
      const stop = new AbortController();
      const report = () => (reports += 1);
      const running = run(stop.signal, report, { nothingInFlightBefore: true, leavesInFlight: false });
      return () => {
        stop.abort();
        return running;
      };
    };
    let stop = start();
    const restart = async () => {
      await stop();
      stop = start();
    };
    await time.pause(SOON_MS);
    await test({ chain, meter, reports: () => reports, pause: (ms) => time.pause(ms), restart });
    await stop();
  });
};

describe('a head that stands still', () => {
  it('is said when it does for much longer than blocks are apart, until there is a block', async () => {
    await whileFollowed(async ({ chain, meter, pause }) => {
      await pause(4 * MINUTE_MS);
      expect(meter.chainWarning).toBeNull();
      await pause(1.5 * MINUTE_MS);
      expect([meter.chainWarning, meter.chainError]).toEqual([NO_BLOCK, null]);
      chain.mine([]);
      await pause(SOON_MS);
      expect(meter.chainWarning).toBeNull();
    });
  });

  it('is said of a provider that is behind the blocks that were read, too', async () => {
    await whileFollowed(async ({ chain, meter, pause }) => {
      const restore = chain.rollBack(3);
      await pause(5.5 * MINUTE_MS);
      expect([meter.chainWarning, meter.chainError]).toEqual([NO_BLOCK, null]);
      restore();
      chain.mine([]);
      await pause(SOON_MS);
      expect(meter.chainWarning).toBeNull();
    });
  });

  it('is not worth a word on a development chain', async () => {
    await whileFollowed(async ({ meter, pause }) => {
      await pause(60 * MINUTE_MS);
      expect(meter.chainWarning).toBeNull();
    }, true);
  });
});

describe('a provider of another, shorter history', () => {
  it.each(['while the chain is followed', 'between two starts'])(
    'that comes %s pauses the chain until one has the final block again',
    async (when) => {
      await whileFollowed(async ({ chain, meter, reports, pause, restart }) => {
        const restore = chain.rollBack(29);
        for (let block = 0; block < 3; block += 1) chain.mine([]);
        if (when === 'between two starts') await restart();
        await pause(6 * MINUTE_MS);
        expect([meter.chainError, meter.chainWarning]).toEqual([expect.stringContaining(OTHER_HISTORY), null]);
        const before = reports();
        await pause(SOON_MS);
        expect(reports()).toBeGreaterThan(before);
        chain.rollBack(3);
        restore();
        chain.mine([]);
        await pause(SOON_MS);
        expect([meter.chainError, meter.chainWarning]).toEqual([null, null]);
      });
    },
  );
});
