import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BreakableServers } from '../../../../shared/testing/engines/breakable-servers.ts';
import { EventStoreServer } from '../../../../shared/testing/event-store-server/event-store-server.esdb.ts';
import { whereServer } from '../../../../shared/testing/engines/servers.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { faultRandom } from '../fault-random.ts';
import { ClusterUnderFault } from './cluster-under-fault.ts';

/** Default number of event catchers that are killed or stopped, one by one. */
const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 4);
if (!Number.isInteger(ROUNDS) || ROUNDS < 1) throw new Error('FAULT_ROUNDS must be a number of rounds');
const TEST_MS = 900_000 + ROUNDS * 60_000;
const folder = temporaryFolder();
const random = faultRandom();

describe('two event catchers that share three chains, on one data folder', () => {
  let cluster: ClusterUnderFault;
  beforeAll(async () => {
    cluster = await ClusterUnderFault.start(join(folder, 'embedded'), {}, random);
  }, TEST_MS);
  afterAll(() => cluster.stop(), TEST_MS);

  it(
    `catch up after each of ${String(ROUNDS)} kills, and lose and double nothing`,
    async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        await cluster.waitUntilShared();
        await cluster.waitUntilCaughtUp();
        await cluster.killOne();
      }
      process.stdout.write(
        `the slowest of ${String(ROUNDS)} rounds took ${(cluster.slowestMs / 1_000).toFixed(1)} s\n`,
      );
      expect(await cluster.differences()).toEqual([]);
    },
    TEST_MS,
  );
});

whereServer('TEST_SERVERS', () => {
  describe('two event catchers that share three chains, on EventStoreDB and MongoDB', () => {
    let cluster: ClusterUnderFault;
    let servers: BreakableServers;
    let eventStore: EventStoreServer;
    beforeAll(async () => {
      servers = await BreakableServers.start(join(folder, 'servers'), ['mongo']);
      eventStore = await EventStoreServer.start();
      const settings = {
        ...servers.settings,
        EVENTSTORE_URL: eventStore.url,
        MONGO_DATABASE: `shared-${randomUUID().slice(0, 8)}`,
      };
      cluster = await ClusterUnderFault.start(join(folder, 'on-servers'), settings, random);
    }, TEST_MS);
    afterAll(async () => {
      await cluster.stop();
      await Promise.all([servers.stop(), eventStore.close()]);
    }, TEST_MS);

    it(
      `catch up after each of ${String(ROUNDS)} kills and stops, and lose and double nothing`,
      async () => {
        for (let round = 0; round < ROUNDS; round += 1) {
          await cluster.waitUntilShared();
          await cluster.waitUntilCaughtUp();
          await (round % 2 === 0 ? cluster.stopOne() : cluster.killOne());
        }
        process.stdout.write(
          `the slowest of ${String(ROUNDS)} rounds took ${(cluster.slowestMs / 1_000).toFixed(1)} s\n`,
        );
        expect(await cluster.differences()).toEqual([]);
      },
      TEST_MS,
    );
  });
});
