import { inSimulatedTime } from '../../../../shared/testing/simulation/simulated-globals.ts';
import type { FollowerUnderTest } from './follower-under-test.ts';

/** Runs a test in simulated time, and stops its follower before this time ends, also if the test fails. */
export const whileFollowing = (follower: FollowerUnderTest, test: () => Promise<void>): Promise<void> =>
  inSimulatedTime(async () => {
    try {
      await test();
    } finally {
      await follower.stop();
    }
  });
