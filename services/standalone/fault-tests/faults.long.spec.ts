import { randomInt, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { topics } from '../../../schemas/topics.ts';
import { serviceNames, type ServiceName } from '../../../shared/config/services.ts';
import type { ServiceProcess } from '../../../shared/testing/running-processes.ts';
import { whereServer } from '../../../shared/testing/servers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { everyMessage } from './agreement.ts';
import { PausedConsumer } from './paused-consumer.ts';
import { WAIT_MS, SystemUnderFault, type Worker } from './system-under-fault.ts';
import type { Workload } from './workload.ethers.ts';

/** How many processes are killed one by one; at least one, since a test without kills would pass. */
const KILLS = Number(process.env['FAULT_ROUNDS'] ?? 10);
if (!Number.isInteger(KILLS) || KILLS < 1) throw new Error('FAULT_ROUNDS must be a number of kills');
/** A new system is started after this many, because a comparison takes longer the more events are stored. */
const KILLS_OF_A_SYSTEM = 20;
const OUTAGE_MS = 60_000;
/** Longer than the session timeout of a consumer group, see TopicFollower. */
const HELD_MS = 15_000;
const TAKES_OVER_WITHIN_MS = 10_000;
/** Far more than any test takes: each wait has a shorter bound of its own. */
const TEST_MS = 900_000;
const KILL_MS = 120_000;
const folder = temporaryFolder();

const workers = ['relay', 'projector', 'event-catcher'] as const satisfies readonly Worker[];
type Workers = ReadonlyMap<Worker, ServiceProcess>;

const inRandomOrder = (names: readonly ServiceName[]): ServiceName[] => {
  const remaining = [...names];
  return names.flatMap(() => remaining.splice(randomInt(remaining.length), 1));
};

whereServer('TEST_SERVERS', () => {
  describe('read models, topics and streamed events equal the event store, and no acknowledged command is lost, after', () => {
    let system: SystemUnderFault;
    const start = async (): Promise<void> => {
      system = await SystemUnderFault.start(join(folder, randomUUID()));
      await system.watchTheToken();
      await system.subscribe();
    };
    beforeAll(start, TEST_MS);
    afterEach(() => system.stopWorkload(), TEST_MS);
    afterAll(() => system.stop(), TEST_MS);

    it(
      `${String(KILLS)} kills at random times, one of each process in every round`,
      async () => {
        for (let done = 0; done < KILLS; done += serviceNames.length) {
          if (done > 0 && done % KILLS_OF_A_SYSTEM === 0) {
            await system.stop();
            await start();
          }
          const workload = system.work();
          for (const name of inRandomOrder(serviceNames).slice(0, KILLS - done)) {
            await workload.goesOn(randomInt(1, 30));
            await system.kill(name);
            await workload.goesOn(randomInt(1, 10));
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
        const workload = system.work();
        for (let round = 0; round < 3; round += 1) {
          await workload.goesOn(randomInt(5, 30));
          await system.kill();
          await system.restart();
          await workload.goesOn(5);
        }
        expect(await system.differences()).toEqual([]);
      },
      TEST_MS,
    );

    it(
      'outages of 60 s that overlap: first Kafka alone, then MongoDB too, then MongoDB alone',
      async () => {
        const workload = system.work();
        await workload.goesOn(10);
        try {
          await system.killServers('kafka');
          await workload.lasts(OUTAGE_MS / 2);
          await system.killServers('mongo');
          await workload.lasts(OUTAGE_MS / 2);
          await system.restartServers('kafka');
          await workload.lasts(OUTAGE_MS / 2);
        } finally {
          await system.restartServers('kafka', 'mongo');
        }
        await workload.goesOn(10);
        expect(await system.differences()).toEqual([]);
        expect(serviceNames.filter((one) => system.processes.service(one).process.hasEnded)).toEqual([]);
      },
      TEST_MS,
    );

    /** Drops connections before and after the write of an append, and at last restarts the event store. */
    const dropAppends = async (workload: Workload): Promise<void> => {
      const { eventStoreServer } = system;
      const { faults } = eventStoreServer;
      for (let round = 0; round < 10; round += 1) {
        await workload.goesOn(randomInt(1, 10));
        faults.dropBeforeWrite = randomInt(1, 4);
        faults.dropAfterWrite = randomInt(1, 4);
        const areDropped = () => faults.dropBeforeWrite === 0 && faults.dropAfterWrite === 0;
        await system.eventually(areDropped, WAIT_MS, 'an append must be dropped before its write, and one after it');
        await workload.goesOn(randomInt(1, 10));
        eventStoreServer.dropConnections();
      }
      await eventStoreServer.restart(2_000);
      await workload.goesOn(5);
    };

    it(
      'connections to the event store dropped during appends, while a consumer takes longer for a batch than its session timeout and receives each message once',
      async () => {
        const { messageBus } = system.engines;
        const workload = system.work();
        await workload.goesOn(10);
        await using consumer = await PausedConsumer.start(messageBus);
        await system.eventually(() => consumer.received.length > 0, WAIT_MS, 'the consumer must receive a batch');
        const [firstBatch, heldAt] = [consumer.received.length, performance.now()];
        await dropAppends(workload);
        await workload.lasts(heldAt + HELD_MS - performance.now());
        expect(consumer.received).toHaveLength(firstBatch);
        consumer.resume();
        await workload.goesOn(10);
        expect(await system.differences()).toEqual([]);
        const published = await everyMessage(messageBus, topics.chainEvents);
        expect(published.length).toBeGreaterThan(firstBatch);
        const hasReceivedAll = () => consumer.received.length >= published.length;
        await system.eventually(hasReceivedAll, WAIT_MS, 'the consumer must receive every message');
        const byPartition = Map.groupBy(consumer.received, ({ partition }) => partition);
        expect(byPartition).toEqual(Map.groupBy(published, ({ partition }) => partition));
      },
      TEST_MS,
    );

    describe('with two processes each of relay, projector and event catcher,', () => {
      const first = (): Workers => new Map(workers.map((name) => [name, system.processes.service(name)]));
      const second = async (): Promise<Workers> =>
        new Map(await Promise.all(workers.map(async (name) => [name, await system.processes.another(name)] as const)));

      const waitUntilWorking = async (processes: Workers, isWorking: boolean): Promise<void> => {
        const wait = ([name, service]: [Worker, ServiceProcess]) =>
          system.eventually(
            () => system.works(name, service, isWorking),
            TAKES_OVER_WITHIN_MS,
            isWorking ? `this ${name} must take over` : `this ${name} must stand by`,
          );
        await Promise.all(Array.from(processes, wait));
      };
      /** Has these work and the others stand by: on a busy machine a lease may have lapsed, and gone to another one. */
      const letWork = async (processes: Workers, others: Workers): Promise<void> => {
        for (const [name, service] of processes) {
          const other = others.get(name);
          if (!other || (await system.works(name, service, true))) continue;
          await system.whileStopped([other], () => waitUntilWorking(new Map([[name, service]]), true));
        }
      };

      it(
        'those that work were killed',
        async () => {
          await waitUntilWorking(first(), true);
          await using started = new AsyncDisposableStack();
          const others = await second();
          for (const service of others.values()) started.use(service);
          await waitUntilWorking(others, false);
          const workload = system.work();
          await workload.goesOn(10);
          await letWork(first(), others);
          await system.kill(...workers);
          await waitUntilWorking(others, true);
          await workload.goesOn(10);
          await system.restart(...workers);
          await waitUntilWorking(first(), false);
          await letWork(others, first());
          await Promise.all(Array.from(others.values(), ({ process }) => process.kill()));
          await waitUntilWorking(first(), true);
          expect(await system.differences()).toEqual([]);
        },
        TEST_MS,
      );

      it(
        'those that work were stopped for a while as by a debugger',
        async () => {
          await waitUntilWorking(first(), true);
          await using started = new AsyncDisposableStack();
          const others = await second();
          for (const service of others.values()) started.use(service);
          const workload = system.work();
          await workload.goesOn(10);
          await letWork(first(), others);
          await system.whileStopped([...first().values()], async () => {
            await waitUntilWorking(others, true);
            await workload.goesOn(20);
          });
          await waitUntilWorking(first(), false);
          await workload.goesOn(20);
          await letWork(others, first());
          await Promise.all(Array.from(others.values(), ({ process }) => process.stop()));
          await waitUntilWorking(first(), true);
          expect(await system.differences()).toEqual([]);
        },
        TEST_MS,
      );
    });
  });
});
