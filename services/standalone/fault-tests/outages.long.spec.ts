import { expect, it } from '@jest/globals';
import { topics } from '../../../schemas/topics.ts';
import { serviceNames } from '../../../shared/config/services.ts';
import { afterFaults, TEST_MS } from './after-faults.ts';
import { everyMessage } from './agreement.ts';
import { faultRandom } from './fault-random.ts';
import { PausedConsumer } from './paused-consumer.ts';
import { WAIT_MS, type SystemUnderFault } from './system-under-fault.ts';
import type { Workload } from './workload.ethers.ts';

const OUTAGE_MS = 60_000;
/** Longer than the session timeout of a consumer group, see TopicFollower. */
const HELD_MS = 15_000;

const random = faultRandom();

/** Drops connections before and after the write of an append, and at last restarts the event store. */
const dropAppends = async (system: SystemUnderFault, workload: Workload): Promise<void> => {
  const { eventStoreServer } = system;
  const { faults } = eventStoreServer;
  for (let round = 0; round < 10; round += 1) {
    await workload.goesOn(random.between(1, 9));
    faults.dropBeforeWrite = random.between(1, 3);
    faults.dropAfterWrite = random.between(1, 3);
    const areDropped = () => faults.dropBeforeWrite === 0 && faults.dropAfterWrite === 0;
    await system.eventually(areDropped, WAIT_MS, 'an append must be dropped before its write, and one after it');
    await workload.goesOn(random.between(1, 9));
    eventStoreServer.dropConnections();
  }
  await eventStoreServer.restart(2_000);
  await workload.goesOn(5);
};

afterFaults(({ system: running }) => {
  it(
    'outages of 60 s that overlap: first Kafka alone, then MongoDB too, then MongoDB alone',
    async () => {
      const system = running();
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

  it(
    'connections to the event store dropped during appends, while a consumer takes longer for a batch than its session timeout and receives each message once',
    async () => {
      const system = running();
      const { messageBus } = system.engines;
      const workload = system.work();
      await workload.goesOn(10);
      await using consumer = await PausedConsumer.start(messageBus);
      await system.eventually(() => consumer.received.length > 0, WAIT_MS, 'the consumer must receive a batch');
      const [firstBatch, heldAt] = [consumer.received.length, performance.now()];
      await dropAppends(system, workload);
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
});
