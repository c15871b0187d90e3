import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServiceProcess } from '../../../shared/testing/running-processes.ts';
import { whereServer } from '../../../shared/testing/servers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { HeldLink } from './held-link.ts';
import { COMES_WITHIN_MS, SystemUnderFault } from './system-under-fault.ts';

/** Enough for a backfill to have a middle. */
const PAST_BLOCKS = 150;
const TRANSFERS_PER_BLOCK = 100;
const PAST = PAST_BLOCKS * TRANSFERS_PER_BLOCK;
const LIVE_STOPS = 6;
/** As many as go over a connection before anything has to come back. */
const LATE_TRANSFERS = 20;
const LATE_BYTES_MIN = LATE_TRANSFERS * 400;
const TAKES_OVER_WITHIN_MS = 10_000;
const TEST_MS = 900_000;
const folder = temporaryFolder();

whereServer('TEST_SERVERS', () => {
  describe('every record of a chain is stored once, and none that it took back, when of two event catchers the working one is stopped', () => {
    let system: SystemUnderFault;
    let link: HeldLink;
    /** Whose way to the event store can be held. */
    let linked: ServiceProcess;
    let other: ServiceProcess;

    beforeAll(async () => {
      system = await SystemUnderFault.start(join(folder, 'system'));
      link = await HeldLink.open(system.eventStoreServer.port);
      linked = await system.processes.another('event-catcher', {
        EVENTSTORE_URL: `esdb://127.0.0.1:${String(link.port)}?tls=false`,
      });
      other = system.processes.service('event-catcher');
      await system.chain.mine(PAST_BLOCKS, TRANSFERS_PER_BLOCK);
    }, TEST_MS);
    afterEach(() => system.rest(), TEST_MS);
    afterAll(async () => {
      await system.stop();
      await link[Symbol.asyncDispose]();
    }, TEST_MS);

    const follows = (catcher: ServiceProcess): Promise<void> =>
      system.eventually(
        () => system.works('event-catcher', catcher, true),
        TAKES_OVER_WITHIN_MS,
        'this event catcher must take over',
      );

    /** Stops the working one until the other works, and has done what is to be done meanwhile. */
    const stopTheWorkingOne = async (meanwhile: () => Promise<void>): Promise<void> => {
      const isLinked = await system.works('event-catcher', linked, true);
      const [working, standby] = isLinked ? [linked, other] : [other, linked];
      expect(await system.works('event-catcher', working, true)).toBe(true);
      await system.whileStopped([working], async () => {
        await follows(standby);
        await meanwhile();
      });
    };

    it(
      'in the middle of a backfill',
      async () => {
        await system.watchTheToken();
        for (const part of [0.1, 0.4, 0.7]) {
          await system.eventually(
            async () => (await system.stored()) >= part * PAST,
            COMES_WITHIN_MS,
            'the backfill must go on',
          );
          await stopTheWorkingOne(async () => {
            expect(await system.stored()).toBeLessThan(PAST);
          });
        }
        await system.subscribe();
        expect(await system.differences()).toEqual([]);
      },
      TEST_MS,
    );

    it(
      'in the middle of live blocks, some of them taken back',
      async () => {
        const workload = system.work();
        for (let stop = 0; stop < LIVE_STOPS; stop += 1) {
          await workload.goesOn(randomInt(3, 20));
          await stopTheWorkingOne(() => workload.goesOn(randomInt(1, 10)));
          await workload.goesOn(3);
        }
        expect(await system.differences()).toEqual([]);
      },
      TEST_MS,
    );

    it(
      'with an append on its way, of a block that is taken back before it arrives',
      async () => {
        const { chain } = system;
        if (!(await system.works('event-catcher', linked, true))) await stopTheWorkingOne(() => Promise.resolve());
        await follows(linked);
        await chain.mine(1, 1);
        await system.eventually(hasComeToTheHead, COMES_WITHIN_MS, 'it must have caught a block itself');
        const revert = await chain.snapshot();
        link.hold();
        await chain.mine(1, LATE_TRANSFERS);
        let kept = 0;
        const isOnItsWay = () => {
          const isAll = kept >= LATE_BYTES_MIN && kept === link.keptBytes;
          kept = link.keptBytes;
          return isAll;
        };
        await system.eventually(isOnItsWay, COMES_WITHIN_MS, 'the append must be on its way');
        await system.whileStopped([linked], async () => {
          await revert();
          await chain.mine(3, 0);
          await follows(other);
          await system.eventually(hasComeToTheHead, COMES_WITHIN_MS, 'the other must have come to the head');
          link.letGo();
          await system.eventually(() => link.answeredBytes > 0, COMES_WITHIN_MS, 'the append must have arrived');
        });
        // Nothing follows in the contract's stream that would show what came late.
        await chain.mine(1, 0);
        expect(await system.differences()).toEqual([]);
      },
      TEST_MS,
    );

    /** From its checkpoint on a follower has nothing under way until the next block. */
    const hasComeToTheHead = async (): Promise<boolean> =>
      (await system.checkpointedHead()) === (await system.chain.head());
  });
});
