import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe } from '@jest/globals';
import { whereServer } from '../../../shared/testing/engines/servers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { SystemUnderFault } from './system-under-fault.ts';

/** Far more than any test takes: each wait has a shorter limit of its own. */
export const TEST_MS = 900_000;

interface Tested {
  /** Returns the running system, which watches a token. */
  system: () => SystemUnderFault;
  /** Replaces it by a new one without any events. */
  renew: () => Promise<void>;
}

/** Runs the tests of a kind of fault on a system and servers of their own, where servers can be started. */
export const afterFaults = (define: (tested: Tested) => void): void => {
  whereServer('TEST_SERVERS', () => {
    describe('read models, topics and streamed events equal the event store, and no acknowledged command is lost, after', () => {
      const folder = temporaryFolder();
      let system: SystemUnderFault;
      const start = async (): Promise<void> => {
        system = await SystemUnderFault.start(join(folder, randomUUID()));
        await system.watchTheToken();
        await system.subscribe();
      };
      beforeAll(start, TEST_MS);
      afterEach(() => system.stopWorkload(), TEST_MS);
      afterAll(() => system.stop(), TEST_MS);
      define({
        system: () => system,
        renew: async () => {
          await system.stop();
          await start();
        },
      });
    });
  });
};
