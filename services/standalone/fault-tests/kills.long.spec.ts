import { expect, it } from '@jest/globals';
import { serviceNames, type ServiceName } from '../../../shared/config/services.ts';
import { afterFaults, TEST_MS } from './after-faults.ts';
import { faultRandom } from './fault-random.ts';

/** How many processes are killed one by one; at least one, because a test without kills would pass. */
const KILLS = Number(process.env['FAULT_ROUNDS'] ?? 10);
if (!Number.isInteger(KILLS) || KILLS < 1) throw new Error('FAULT_ROUNDS must be a number of kills');
/** A new system is started after this many, because a comparison takes longer the more events are stored. */
const KILLS_OF_A_SYSTEM = 20;
const KILL_MS = 120_000;

const random = faultRandom();

const inRandomOrder = (names: readonly ServiceName[]): ServiceName[] => {
  const remaining = [...names];
  return names.flatMap(() => remaining.splice(random.between(0, remaining.length - 1), 1));
};

afterFaults(({ system: running, renew }) => {
  it(
    `${String(KILLS)} kills at random times, one of each process in every round`,
    async () => {
      for (let done = 0; done < KILLS; done += serviceNames.length) {
        if (done > 0 && done % KILLS_OF_A_SYSTEM === 0) {
          await renew();
        }
        const system = running();
        const workload = system.work();
        for (const name of inRandomOrder(serviceNames).slice(0, KILLS - done)) {
          await workload.goesOn(random.between(1, 29));
          await system.kill(name);
          await workload.goesOn(random.between(1, 9));
          await system.restart(name);
        }
        await workload.goesOn(5);
        expect(await system.differences()).toEqual([]);
        const killed = Math.min(done + serviceNames.length, KILLS);
        process.stderr.write(`${String(killed)} of ${String(KILLS)} kills\n`);
      }
    },
    TEST_MS + KILLS * KILL_MS,
  );

  it(
    'three kills of all processes at once',
    async () => {
      const system = running();
      const workload = system.work();
      for (let round = 0; round < 3; round += 1) {
        await workload.goesOn(random.between(5, 29));
        await system.kill();
        await system.restart();
        await workload.goesOn(5);
      }
      expect(await system.differences()).toEqual([]);
    },
    TEST_MS,
  );
});
