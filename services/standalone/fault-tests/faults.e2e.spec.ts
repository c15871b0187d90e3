import { randomInt, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { topics } from '../../../schemas/topics.ts';
import { serviceNames, type ServiceName, type ServiceProcess } from '../../../shared/testing/running-processes.ts';
import { whereServer } from '../../../shared/testing/servers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { everyMessage } from './agreement.ts';
import { HeldConsumer } from './held-consumer.ts';
import { COMES_WITHIN_MS, SystemUnderFault, type Worker } from './system-under-fault.ts';
import type { Workload } from './workload.ethers.ts';

/** How many processes are killed one by one: a test of none would pass. */
const KILLS = Number(process.env['FAULT_ROUNDS'] ?? 20);
if (!Number.isInteger(KILLS) || KILLS < 1) throw new Error('FAULT_ROUNDS must be a number of kills');
/** A comparison is of all that was stored since a system started. */
const KILLS_OF_A_SYSTEM = 20;
const OUTAGE_MS = 60_000;
/** Longer than a group waits for a member that is silent, see TopicFollower. */
const HELD_MS = 15_000;
const TAKES_OVER_WITHIN_MS = 10_000;
/** Far more than anything here takes: what must happen soon has a bound of its own. */
const TEST_MS = 900_000;
const KILL_MS = 120_000;
const folder = temporaryFolder();

const workers = ['relay', 'projector', 'event-catcher'] as const satisfies readonly Worker[];
type Workers = ReadonlyMap<Worker, ServiceProcess>;

const inRandomOrder = (names: readonly ServiceName[]): ServiceName[] => {
  const left = [...names];
  return names.flatMap(() => left.splice(randomInt(left.length), 1));
};

whereServer('TEST_SERVERS', () => {
  describe('read models, topics and what is streamed equal the event store, and nothing acknowledged is lost, after', () => {
    let system: SystemUnderFault;
    const begin = async (): Promise<void> => {
      system = await SystemUnderFault.start(join(folder, randomUUID()));
      await system.watchTheToken();
      await system.subscribe();
    };
    beforeAll(begin, TEST_MS);
    afterEach(() => system.rest(), TEST_MS);
    afterAll(() => system.stop(), TEST_MS);

    it(
      `${String(KILLS)} kills at random moments, one of each process in every round`,
      async () => {
        for (let done = 0; done < KILLS; done += serviceNames.length) {
          if (done > 0 && done % KILLS_OF_A_SYSTEM === 0) {
            await system.stop();
            await begin();
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
      'a kill of all processes at once, again and again',
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
          await system.takeAway('kafka');
          await workload.lasts(OUTAGE_MS / 2);
          await system.takeAway('mongo');
          await workload.lasts(OUTAGE_MS / 2);
          await system.bringBack('kafka');
          await workload.lasts(OUTAGE_MS / 2);
        } finally {
          await system.bringBack('kafka', 'mongo');
        }
        await workload.goesOn(10);
        expect(await system.differences()).toEqual([]);
        expect(serviceNames.filter((one) => system.processes.service(one).process.hasEnded)).toEqual([]);
      },
      TEST_MS,
    );

    /** Before and after the write, and a restart at last. */
    const cutAppends = async (workload: Workload): Promise<void> => {
      const { eventStoreServer } = system;
      const { faults } = eventStoreServer;
      for (let round = 0; round < 10; round += 1) {
        await workload.goesOn(randomInt(1, 10));
        faults.dropBeforeWrite = randomInt(1, 4);
        faults.dropAfterWrite = randomInt(1, 4);
        const areMade = () => faults.dropBeforeWrite === 0 && faults.dropAfterWrite === 0;
        await system.eventually(areMade, COMES_WITHIN_MS, 'every cut must hit an append');
        await workload.goesOn(randomInt(1, 10));
        eventStoreServer.dropConnections();
      }
      await eventStoreServer.restart(2_000);
      await workload.goesOn(5);
    };

    it(
      'connections of the event store cut in the middle of appends, while a consumer takes longer for a batch than a group waits for its members, and is given each message once',
      async () => {
        const { messageBus } = system.engines;
        const workload = system.work();
        await workload.goesOn(10);
        await using consumer = await HeldConsumer.start(messageBus);
        await system.eventually(() => consumer.given.length > 0, COMES_WITHIN_MS, 'the consumer must be given a batch');
        const [inHand, heldAt] = [consumer.given.length, performance.now()];
        await cutAppends(workload);
        await workload.lasts(heldAt + HELD_MS - performance.now());
        expect(consumer.given).toHaveLength(inHand);
        consumer.letGo();
        await workload.goesOn(10);
        expect(await system.differences()).toEqual([]);
        const published = await everyMessage(messageBus, topics.chainEvents);
        expect(published.length).toBeGreaterThan(inHand);
        const isGiven = () => consumer.given.length >= published.length;
        await system.eventually(isGiven, COMES_WITHIN_MS, 'the consumer must be given every message');
        const byPartition = Map.groupBy(consumer.given, ({ partition }) => partition);
        expect(byPartition).toEqual(Map.groupBy(published, ({ partition }) => partition));
      },
      TEST_MS,
    );

    describe('two at once of relay, projector and event catcher,', () => {
      const first = (): Workers => new Map(workers.map((name) => [name, system.processes.service(name)]));
      const another = async (): Promise<Workers> =>
        new Map(await Promise.all(workers.map(async (name) => [name, await system.processes.another(name)] as const)));

      const follow = async (processes: Workers, here: boolean): Promise<void> => {
        const follows = ([name, service]: [Worker, ServiceProcess]) =>
          system.eventually(
            () => system.works(name, service, here),
            TAKES_OVER_WITHIN_MS,
            here ? `this ${name} must take over` : `this ${name} must stand by`,
          );
        await Promise.all(Array.from(processes, follows));
      };
      const expectToFollow = async (processes: Workers): Promise<void> => {
        for (const [name, service] of processes)
          expect([name, await system.works(name, service, true)]).toEqual([name, true]);
      };

      it(
        'the working ones killed',
        async () => {
          await follow(first(), true);
          await using started = new AsyncDisposableStack();
          const others = await another();
          for (const service of others.values()) started.use(service);
          await follow(others, false);
          const workload = system.work();
          await workload.goesOn(10);
          await expectToFollow(first());
          await system.kill(...workers);
          await follow(others, true);
          await workload.goesOn(10);
          await system.restart(...workers);
          await follow(first(), false);
          await expectToFollow(others);
          await Promise.all(Array.from(others.values(), ({ process }) => process.kill()));
          await follow(first(), true);
          expect(await system.differences()).toEqual([]);
        },
        TEST_MS,
      );

      it(
        'the working ones stopped for a while as by a debugger',
        async () => {
          await follow(first(), true);
          await using started = new AsyncDisposableStack();
          const others = await another();
          for (const service of others.values()) started.use(service);
          const workload = system.work();
          await workload.goesOn(10);
          await expectToFollow(first());
          await system.whileStopped([...first().values()], async () => {
            await follow(others, true);
            await workload.goesOn(20);
          });
          await follow(first(), false);
          await workload.goesOn(20);
          await expectToFollow(others);
          await Promise.all(Array.from(others.values(), ({ process }) => process.stop()));
          await follow(first(), true);
          expect(await system.differences()).toEqual([]);
        },
        TEST_MS,
      );
    });
  });
});
