import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { serviceNames, type ServiceName } from '../../../shared/testing/running-processes.ts';
import { whereServer } from '../../../shared/testing/servers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { SystemUnderFault } from './system-under-fault.ts';

const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 20);
const OUTAGE_MS = 60_000;
const TAKES_OVER_WITHIN_MS = 10_000;
const folder = temporaryFolder();

whereServer('TEST_SERVERS', () => {
  describe('read models and topics equal the fold of the event store, and nothing acknowledged is lost, after', () => {
    let system: SystemUnderFault;
    beforeAll(async () => {
      system = await SystemUnderFault.start(folder);
    });
    afterAll(() => system.stop());

    const restart = (name: ServiceName) => system.processes.restart(name);

    it(
      `a kill of each process at random moments, ${String(ROUNDS)} times`,
      async () => {
        for (let round = 0; round < ROUNDS; round += 1) {
          const name = serviceNames[round % serviceNames.length] ?? 'relay';
          const workload = system.work();
          await workload.goesOn(randomInt(1, 30));
          await system.processes.kill(name);
          await workload.goesOn(randomInt(1, 10));
          await restart(name);
          await workload.goesOn(5);
          expect({ round, name, wrong: await system.settle() }).toEqual({ round, name, wrong: [] });
        }
      },
      120_000 + ROUNDS * 30_000,
    );

    it('a kill of all processes at once, again and again', async () => {
      const workload = system.work();
      for (let round = 0; round < 3; round += 1) {
        await workload.goesOn(randomInt(5, 30));
        await system.processes.kill();
        await system.processes.restart();
        await workload.goesOn(5);
      }
      expect(await system.settle()).toEqual([]);
    });

    it.each(['kafka', 'mongo'] as const)(
      '%s stopped for 60 s',
      async (name) => {
        const workload = system.work();
        await workload.goesOn(10);
        await system.servers.kill(name);
        try {
          await workload.lasts(OUTAGE_MS);
        } finally {
          await system.servers.revive(name);
        }
        await workload.goesOn(10);
        expect(await system.settle()).toEqual([]);
        expect(serviceNames.filter((one) => system.processes.service(one).process.hasEnded)).toEqual([]);
      },
      300_000,
    );

    it('connections of the event store cut in the middle of appends, before and after the write, and a restart', async () => {
      const { eventStoreServer } = system;
      const workload = system.work();
      for (let round = 0; round < 10; round += 1) {
        await workload.goesOn(randomInt(1, 10));
        eventStoreServer.faults.dropBeforeWrite = randomInt(0, 3);
        eventStoreServer.faults.dropAfterWrite = randomInt(0, 3);
        await workload.goesOn(randomInt(1, 10));
        eventStoreServer.dropConnections();
      }
      await eventStoreServer.restart(2_000);
      await workload.goesOn(5);
      expect(await system.settle()).toEqual([]);
    });

    describe('two at once of', () => {
      type Worker = 'relay' | 'projector';
      const workers: readonly Worker[] = ['relay', 'projector'];
      const takesOver = async (name: Worker): Promise<void> => {
        const before = await system.position(name);
        await system.eventually(
          async () => (await system.position(name)) > before,
          TAKES_OVER_WITHIN_MS,
          'the other must take over',
        );
      };

      it.each(workers)('%s, one of them killed', async (name) => {
        const second = await system.processes.another(name);
        const workload = system.work();
        await workload.goesOn(10);
        await system.processes.kill(name);
        await takesOver(name);
        await workload.goesOn(10);
        await restart(name);
        await second.process.kill();
        await takesOver(name);
        expect(await system.settle()).toEqual([]);
      });

      it.each(workers)('%s, the working one stopped for a while as by a debugger', async (name) => {
        const second = await system.processes.another(name);
        const workload = system.work();
        await workload.goesOn(10);
        const { child } = system.processes.service(name).process;
        child.kill('SIGSTOP');
        await takesOver(name);
        await workload.goesOn(20);
        child.kill('SIGCONT');
        await workload.goesOn(20);
        await second.process.stop();
        await takesOver(name);
        expect(await system.settle()).toEqual([]);
      });
    });
  });
});
