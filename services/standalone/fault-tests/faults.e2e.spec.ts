import { randomInt, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { topics } from '../../../schemas/topics.ts';
import { serviceNames, type ServiceProcess } from '../../../shared/testing/running-processes.ts';
import { whereServer } from '../../../shared/testing/servers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { everyMessage } from './agreement.ts';
import { HeldConsumer } from './held-consumer.ts';
import { progressAfter, readRounds } from './rounds.ts';
import { COMES_WITHIN_MS, SystemUnderFault, type Worker } from './system-under-fault.ts';

const ROUNDS = readRounds(process.env['FAULT_ROUNDS']);
/** Each round compares all that was stored since the first one. */
const ROUNDS_OF_A_SYSTEM = 20;
const OUTAGE_MS = 60_000;
/** Longer than a group waits for a member that is silent, see TopicFollower. */
const HELD_MS = 15_000;
const TAKES_OVER_WITHIN_MS = 10_000;
/** Far more than anything here takes: what must happen soon has a bound of its own. */
const TEST_MS = 900_000;
const ROUND_MS = 120_000;
const folder = temporaryFolder();

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
      `a kill of each process at random moments, ${String(ROUNDS)} times`,
      async () => {
        const startedAt = performance.now();
        for (let round = 0; round < ROUNDS; round += 1) {
          if (round > 0 && round % ROUNDS_OF_A_SYSTEM === 0) {
            await system.stop();
            await begin();
          }
          const name = serviceNames[round % serviceNames.length] ?? 'relay';
          const workload = system.work();
          await workload.goesOn(randomInt(1, 30));
          await system.processes.kill(name);
          await workload.goesOn(randomInt(1, 10));
          await system.processes.restart(name);
          await workload.goesOn(5);
          expect({ round, name, wrong: await system.settle() }).toEqual({ round, name, wrong: [] });
          const progress = progressAfter(round + 1, ROUNDS, performance.now() - startedAt);
          if (progress !== undefined) process.stderr.write(`${progress}\n`);
        }
      },
      TEST_MS + ROUNDS * ROUND_MS,
    );

    it(
      'a kill of all processes at once, again and again',
      async () => {
        const workload = system.work();
        for (let round = 0; round < 3; round += 1) {
          await workload.goesOn(randomInt(5, 30));
          await system.processes.kill();
          await system.processes.restart();
          await workload.goesOn(5);
        }
        expect(await system.settle()).toEqual([]);
      },
      TEST_MS,
    );

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
      TEST_MS,
    );

    it(
      'connections of the event store cut in the middle of appends, before and after the write, and a restart',
      async () => {
        const { eventStoreServer } = system;
        const { faults } = eventStoreServer;
        const workload = system.work();
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
        expect(await system.settle()).toEqual([]);
      },
      TEST_MS,
    );

    it(
      'a consumer that took longer for a batch than a group waits for its members, and was given each message once',
      async () => {
        const { messageBus } = system.engines;
        const workload = system.work();
        await workload.goesOn(10);
        await using consumer = await HeldConsumer.start(messageBus);
        await system.eventually(() => consumer.given.length > 0, COMES_WITHIN_MS, 'the consumer must be given a batch');
        const inHand = consumer.given.length;
        await workload.lasts(HELD_MS);
        expect(consumer.given).toHaveLength(inHand);
        consumer.letGo();
        await workload.goesOn(10);
        expect(await system.settle()).toEqual([]);
        const published = await everyMessage(messageBus, topics.chainEvents);
        expect(published.length).toBeGreaterThan(inHand);
        const isGiven = () => consumer.given.length >= published.length;
        await system.eventually(isGiven, COMES_WITHIN_MS, 'the consumer must be given every message');
        const byPartition = Map.groupBy(consumer.given, ({ partition }) => partition);
        expect(byPartition).toEqual(Map.groupBy(published, ({ partition }) => partition));
      },
      TEST_MS,
    );

    describe('two at once of', () => {
      const workers: readonly Worker[] = ['relay', 'projector', 'event-catcher'];
      const follows = (name: Worker, service: ServiceProcess, here: boolean): Promise<void> =>
        system.eventually(
          () => system.works(name, service, here),
          TAKES_OVER_WITHIN_MS,
          here ? `this ${name} must take over` : `this ${name} must stand by`,
        );

      it.each(workers)(
        '%s, one of them killed',
        async (name) => {
          const workload = system.work();
          const first = system.processes.service(name);
          await follows(name, first, true);
          await using second = await system.processes.another(name);
          await follows(name, second, false);
          await workload.goesOn(10);
          expect(await system.works(name, first, true)).toBe(true);
          await system.processes.kill(name);
          await follows(name, second, true);
          await workload.goesOn(10);
          await system.processes.restart(name);
          const third = system.processes.service(name);
          await follows(name, third, false);
          expect(await system.works(name, second, true)).toBe(true);
          await second.process.kill();
          await follows(name, third, true);
          expect(await system.settle()).toEqual([]);
        },
        TEST_MS,
      );

      it.each(workers)(
        '%s, the working one stopped for a while as by a debugger',
        async (name) => {
          const workload = system.work();
          const first = system.processes.service(name);
          await follows(name, first, true);
          await using second = await system.processes.another(name);
          await workload.goesOn(10);
          expect(await system.works(name, first, true)).toBe(true);
          await system.whileStopped(first, async () => {
            await follows(name, second, true);
            await workload.goesOn(20);
          });
          await follows(name, first, false);
          await workload.goesOn(20);
          expect(await system.works(name, second, true)).toBe(true);
          await second.process.stop();
          await follows(name, first, true);
          expect(await system.settle()).toEqual([]);
        },
        TEST_MS,
      );
    });
  });
});
