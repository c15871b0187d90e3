import { describe, expect, it } from '@jest/globals';
import { MemoryChain } from '../../../shared/chain/chain-reader.memory.ts';
import type { ChainReader } from '../../../shared/chain/chain-reader.ts';
import { MemoryEventStore } from '../../../shared/event-store/event-store.memory.ts';
import { WakeUp } from '../../../shared/primitives/wake-up.ts';
import { following } from '../testing/following.ts';
import { overriding } from '../testing/overriding.ts';
import { inSimulation } from '../testing/simulated-globals.ts';
import { SimulatedTime } from '../testing/simulated-time.ts';

/** The times of the blocks of a chain in memory are so far apart. */
const BLOCK_MS = 1_000;
const BLOCKS = 200;
const POLL_MS = 50;
/** Of a chain that has just begun, the pace is not known. */
const KNOWN_AFTER = 20;

interface Announcer {
  everyMs?: number;
  /** How long after each block of the chain it announces one; `undefined` if it does not. */
  afterMs?: number;
  /** Whether it does the former at first only, and then the latter. */
  isRightLater?: boolean;
}

/** Follows a chain while somebody announces blocks. @returns looks for each block, and how late one is found on average */
const followed = ({
  everyMs,
  afterMs,
  isRightLater = false,
}: Announcer): Promise<{ looks: number; lateMs: number }> => {
  const time = new SimulatedTime(0);
  const fetch = () => Promise.reject(new Error('there is no network'));
  return inSimulation({ time, random: () => 0.5, fetch }, async () => {
    const chain = new MemoryChain(2484);
    const announced = new WakeUp();
    let announcedAtMs = -Infinity;
    let minedAtMs = 0;
    let isSeen = true;
    let looks = 0;
    let lateMs = 0;
    const look = () => {
      looks += 1;
      if (!isSeen) lateMs += time.elapsed() - minedAtMs;
      isSeen = true;
    };
    const announce = () => {
      announcedAtMs = time.elapsed();
      announced.ring();
    };
    const reader = overriding<ChainReader>(chain, {
      head: () => {
        look();
        return chain.head();
      },
      headAndFinalized: () => {
        look();
        return chain.headAndFinalized();
      },
    });
    const verification = { everyMs: 3_600_000, callMs: 0 };
    const polled = { pollMs: POLL_MS, pollMsMax: 15_000, verification };
    const settings = {
      chainId: 2484,
      finality: 'finalized' as const,
      confirmations: 12,
      isLocal: false,
      isDevelopment: false,
      rangesMax: 10,
      ...polled,
    };
    const newHeads = {
      announced,
      get announcedAgoMs() {
        return time.elapsed() - announcedAtMs;
      },
    };
    const stop = new AbortController();
    const term = { nothingInFlightBefore: true, leavesInFlight: false };
    const run = following(settings, { eventStore: new MemoryEventStore(), reader, newHeads });
    const running = run(stop.signal, () => undefined, term);
    const announceAgain = () => {
      announce();
      if (!stop.signal.aborted && !(isRightLater && time.elapsed() > KNOWN_AFTER * BLOCK_MS))
        time.after(everyMs ?? 0, announceAgain);
    };
    if (everyMs !== undefined) announceAgain();
    for (let block = -KNOWN_AFTER; block < BLOCKS; block += 1) {
      await time.pause(BLOCK_MS);
      if (block === 0) looks = lateMs = 0;
      chain.mine([]);
      minedAtMs = time.elapsed();
      isSeen = false;
      if (afterMs !== undefined && (block > 0 || !isRightLater)) time.after(afterMs, announce);
    }
    stop.abort();
    await running;
    return { looks: looks / BLOCKS, lateMs: lateMs / BLOCKS };
  });
};

describe('announcements of blocks', () => {
  it('are a look each, which finds the block soon', async () => {
    const { looks, lateMs } = await followed({ afterMs: 10 });
    expect(looks).toBeLessThan(1.1);
    expect(lateMs).toBeLessThanOrEqual(POLL_MS);
  });

  it.each([
    ['without rest', 1],
    ['much more often than there are blocks', 170],
    ['more often than there are blocks', 700],
  ])('that come %s cost next to nothing', async (_, everyMs) => {
    const unannounced = await followed({});
    const { looks, lateMs } = await followed({ everyMs });
    expect(looks).toBeLessThan(unannounced.looks * 1.25);
    expect(lateMs).toBeLessThan(BLOCK_MS / 3);
  });

  it('are heeded again once they are right', async () => {
    const { looks, lateMs } = await followed({ everyMs: 1, afterMs: 10, isRightLater: true });
    expect(looks).toBeLessThan(1.15);
    expect(lateMs).toBeLessThan(2 * POLL_MS);
  });
});
