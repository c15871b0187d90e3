import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServiceProcess } from '../../../../shared/testing/processes/running-processes.ts';
import { whereServer } from '../../../../shared/testing/engines/servers.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { faultRandom } from '../fault-random.ts';
import { PausableProxy } from '../pausable-proxy.ts';
import { WAIT_MS, SystemUnderFault } from '../system-under-fault.ts';
import { HeldProvider } from './held-provider.ts';

/** Enough for the backfill to be interrupted several times. */
const BACKFILLED_BLOCKS = 150;
const TRANSFERS_PER_BLOCK = 100;
const BACKFILLED_EVENTS = BACKFILLED_BLOCKS * TRANSFERS_PER_BLOCK;
/**
 * How much of the backfill is stored when the working catcher is stopped, and the first block whose logs are withheld until
 * then.
 */
const BACKFILL_STOPS = [
  { part: 0.2, heldFrom: 0.4 * BACKFILLED_BLOCKS },
  { part: 0.6, heldFrom: 0.8 * BACKFILLED_BLOCKS },
];
const LIVE_STOPS = 4;
/** So few that the client sends the whole append before it needs an answer. */
const DELAYED_TRANSFERS = 20;
const DELAYED_BYTES_MIN = DELAYED_TRANSFERS * 400;
const TAKES_OVER_WITHIN_MS = 10_000;
const TEST_MS = 900_000;
const folder = temporaryFolder();
const random = faultRandom();

whereServer('TEST_SERVERS', () => {
  describe('every record of a chain is stored once, and no reverted one stays, when the working one of two event catchers is stopped', () => {
    let system: SystemUnderFault;
    const provider = new HeldProvider(BACKFILL_STOPS.map(({ heldFrom }) => heldFrom));
    let proxy: PausableProxy;
    /** The event catcher that reaches the event store through the proxy. */
    let proxied: ServiceProcess;
    let other: ServiceProcess;

    beforeAll(async () => {
      system = await SystemUnderFault.start(join(folder, 'system'), (rpcUrl) => provider.start(rpcUrl));
      proxy = await PausableProxy.open(system.eventStoreServer.port);
      proxied = await system.processes.another('event-catcher', {
        EVENTSTORE_URL: `esdb://127.0.0.1:${String(proxy.port)}?tls=false`,
      });
      other = system.processes.service('event-catcher');
      await system.chain.mine(BACKFILLED_BLOCKS, TRANSFERS_PER_BLOCK);
    }, TEST_MS);
    afterEach(() => system.stopWorkload(), TEST_MS);
    afterAll(async () => {
      await system.stop();
      await provider.stop();
      await proxy[Symbol.asyncDispose]();
    }, TEST_MS);

    const waitUntilWorking = (catcher: ServiceProcess): Promise<void> =>
      system.eventually(
        () => system.works('event-catcher', catcher, true),
        TAKES_OVER_WITHIN_MS,
        'this event catcher must take over',
      );

    const theWorkingOne = async (): Promise<ServiceProcess | undefined> => {
      for (const catcher of [proxied, other]) if (await system.works('event-catcher', catcher, true)) return catcher;
      return undefined;
    };

    /** Stops the working event catcher, waits until the other one works, and then does `meanwhile`. */
    const stopTheWorkingOne = async (meanwhile: () => Promise<void>): Promise<void> => {
      const working = await eventually(theWorkingOne, WAIT_MS, 'one of the event catchers must work');
      const standby = working === proxied ? other : proxied;
      await system.whileStopped([working], async () => {
        await waitUntilWorking(standby);
        await meanwhile();
      });
    };

    it(
      'during a backfill',
      async () => {
        await system.watchTheToken();
        for (const { part, heldFrom } of BACKFILL_STOPS) {
          await system.eventually(
            async () => (await system.stored()) >= part * BACKFILLED_EVENTS,
            WAIT_MS,
            'the backfill must continue',
          );
          await stopTheWorkingOne(async () => {
            expect(await system.stored()).toBeLessThan(BACKFILLED_EVENTS);
            provider.letGo(heldFrom);
          });
        }
        await system.subscribe();
        expect(await system.differences()).toEqual([]);
      },
      TEST_MS,
    );

    it(
      'during live blocks, some of which are reverted',
      async () => {
        const workload = system.work();
        for (let stop = 0; stop < LIVE_STOPS; stop += 1) {
          await workload.goesOn(random.between(3, 19));
          await stopTheWorkingOne(() => workload.goesOn(random.between(1, 9)));
          await workload.goesOn(3);
        }
        expect(await system.differences()).toEqual([]);
      },
      TEST_MS,
    );

    it(
      'with an append in flight of a block that is reverted before the append is received',
      async () => {
        const { chain } = system;
        if (!(await system.works('event-catcher', proxied, true))) await stopTheWorkingOne(() => Promise.resolve());
        await waitUntilWorking(proxied);
        await chain.mine(1, 1);
        await system.eventually(hasReachedTheHead, WAIT_MS, 'it must have caught a block itself');
        const revert = await chain.snapshot();
        proxy.pause();
        await chain.mine(1, DELAYED_TRANSFERS);
        let heldBefore = 0;
        const isInFlight = () => {
          const isWhole = heldBefore >= DELAYED_BYTES_MIN && heldBefore === proxy.heldBytes;
          heldBefore = proxy.heldBytes;
          return isWhole;
        };
        await system.eventually(isInFlight, WAIT_MS, 'the append must be in flight');
        await system.whileStopped([proxied], async () => {
          await revert();
          await chain.mine(3, 0);
          await waitUntilWorking(other);
          await system.eventually(hasReachedTheHead, WAIT_MS, 'the other must have reached the head');
          proxy.resume();
          await system.eventually(() => proxy.answeredBytes > 0, WAIT_MS, 'the append must be answered');
        });
        // The block is empty, so that no later append to the contract's stream corrects what the delayed one did.
        await chain.mine(1, 0);
        expect(await system.differences()).toEqual([]);
      },
      TEST_MS,
    );

    /** A follower that has stored its progress up to the head has no append in flight before the next block. */
    const hasReachedTheHead = async (): Promise<boolean> => (await system.storedHead()) === (await system.chain.head());
  });
});
