import { describe, expect, it } from '@jest/globals';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import type { ChainReader } from '../../../../shared/chain/chain-reader.ts';
import { MemoryEventStore } from '../../../../shared/testing/engines/event-store.memory.ts';
import { WakeUp } from '../../../../shared/primitives/waiting/wake-up.ts';
import { following, followSettings } from '../../testing/follower/following.ts';
import { overriding } from '../../testing/overriding.ts';
import { inSimulatedTime } from '../../../../shared/testing/simulation/simulated-globals.ts';

/** The time between blocks of a chain in memory. */
const BLOCK_MS = 1_000;
const BLOCKS = 200;
const POLL_MS = 50;
/** The pace of a chain that has just begun is unknown. */
const KNOWN_AFTER = 20;

interface Announcer {
  everyMs?: number;
  /** How long after each block it is announced; `undefined` if it is not. */
  afterMs?: number;
  /** Whether the announcer starts with the former, and ends with the latter. */
  isRightLater?: boolean;
}

/**
 * Follows a chain while blocks are announced. @returns polls per block, and the average delay until a block is found
 */
const followed = ({
  everyMs,
  afterMs,
  isRightLater = false,
}: Announcer): Promise<{ polls: number; lateMs: number }> => {
  return inSimulatedTime(async (time) => {
    const chain = new MemoryChain(2484);
    const announced = new WakeUp();
    let announcedAtMs = -Infinity;
    let minedAtMs = 0;
    let isSeen = true;
    let polls = 0;
    let lateMs = 0;
    const poll = () => {
      polls += 1;
      if (!isSeen) lateMs += time.elapsed() - minedAtMs;
      isSeen = true;
    };
    const announce = () => {
      announcedAtMs = time.elapsed();
      announced.ring();
    };
    const reader = overriding<ChainReader>(chain, {
      head: () => {
        poll();
        return chain.head();
      },
      headAndFinalized: () => {
        poll();
        return chain.headAndFinalized();
      },
    });
    const settings = followSettings({ confirmations: 12, pollMs: POLL_MS, pollMsMax: 15_000 });
    const newHeads = {
      announced,
      isListening: true,
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
      if (block === 0) polls = lateMs = 0;
      chain.mine([]);
      minedAtMs = time.elapsed();
      isSeen = false;
      if (afterMs !== undefined && (block > 0 || !isRightLater)) time.after(afterMs, announce);
    }
    stop.abort();
    await running;
    return { polls: polls / BLOCKS, lateMs: lateMs / BLOCKS };
  });
};

describe('announcements of blocks', () => {
  it('are a poll each, which finds the block soon', async () => {
    const { polls, lateMs } = await followed({ afterMs: 10 });
    expect(polls).toBeLessThan(1.1);
    expect(lateMs).toBeLessThanOrEqual(POLL_MS);
  });

  it.each([
    ['without rest', 1],
    ['much more often than there are blocks', 170],
    ['more often than there are blocks', 700],
  ])('that come %s cost next to nothing', async (_, everyMs) => {
    const unannounced = await followed({});
    const { polls, lateMs } = await followed({ everyMs });
    expect(polls).toBeLessThan(unannounced.polls * 1.25);
    expect(lateMs).toBeLessThan(BLOCK_MS / 3);
  });

  it('are heeded again once they are right', async () => {
    const { polls, lateMs } = await followed({ everyMs: 1, afterMs: 10, isRightLater: true });
    expect(polls).toBeLessThan(1.15);
    expect(lateMs).toBeLessThan(2 * POLL_MS);
  });
});
