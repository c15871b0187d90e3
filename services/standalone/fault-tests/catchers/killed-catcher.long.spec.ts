import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { faultRandom } from '../fault-random.ts';
import { CatcherUnderFault } from './catcher-under-fault.ts';

const KILLS = Number(process.env['FAULT_ROUNDS'] ?? 6);
if (!Number.isInteger(KILLS) || KILLS < 1) throw new Error('FAULT_ROUNDS must be a number of kills');
/** About the time of a backfill, so that a kill comes before it has started, during it, or after its end. */
const KILLED_WITHIN_MS = 800;
const READING_WITHIN_MS = 60_000;
const TEST_MS = 300_000 + KILLS * 30_000;
const folder = temporaryFolder();
const random = faultRandom();

describe('a chain with reorganisations, whose contracts are registered one after the other', () => {
  let system: CatcherUnderFault;
  beforeAll(async () => {
    system = await CatcherUnderFault.start(join(folder, 'system'), KILLS, random);
  }, TEST_MS);
  afterAll(() => system.stop(), TEST_MS);

  it(
    `is caught whole and once, however often the program is killed: ${String(KILLS)} times while it reads history and follows the head`,
    async () => {
      for (let kill = 0; kill < KILLS; kill += 1) {
        const registered = system.registerNext();
        // Every other kill comes while history is being read, however fast that is here.
        if (kill % 2 === 0) {
          await eventually(() => system.isReadingHistory, READING_WITHIN_MS, 'the history must be read');
          await registered;
        } else {
          await registered;
          await pause(random.between(0, KILLED_WITHIN_MS));
        }
        await system.killAndRestart();
      }
      expect(await system.differences()).toEqual([]);
    },
    TEST_MS,
  );
});
