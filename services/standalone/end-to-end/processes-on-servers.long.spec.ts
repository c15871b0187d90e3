import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, describe } from '@jest/globals';
import { dropDatabases } from '../../../shared/testing/engines/drop-databases.mongo.ts';
import { EventStoreServer } from '../../../shared/testing/event-store-server/event-store-server.esdb.ts';
import { kafkaForTests } from '../../../shared/testing/engines/test-bus.kafka.ts';
import { RunningProcesses } from '../../../shared/testing/processes/running-processes.ts';
import { whereServer } from '../../../shared/testing/engines/servers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { mainPathContract } from './main-path.contract.ts';
import { readTopicInKafka } from './read-topic.kafka.ts';

whereServer('KAFKA_BROKERS', (KAFKA_BROKERS) => {
  whereServer('MONGO_URL', (MONGO_URL) => {
    const folder = temporaryFolder();
    const { TOPIC_PREFIX } = kafkaForTests(KAFKA_BROKERS);
    const run = `e2e-${randomUUID().slice(0, 8)}`;
    const databases: string[] = [];
    const eventStores: EventStoreServer[] = [];
    /** Only the first program can begin without any data there. */
    let givenUrl = process.env['EVENTSTORE_URL'];
    const eventStoreUrl = async (): Promise<string> => {
      if (givenUrl) {
        const url = givenUrl;
        givenUrl = undefined;
        return url;
      }
      const standIn = await EventStoreServer.start();
      eventStores.push(standIn);
      return standIn.url;
    };

    afterAll(async () => {
      await Promise.all(eventStores.map((server) => server.close()));
      await dropDatabases(MONGO_URL, databases);
    });

    describe('a process for each service, on EventStoreDB, Kafka and MongoDB', () => {
      mainPathContract(
        async (name, chain) => {
          const MONGO_DATABASE = `${run}-${name}`;
          databases.push(MONGO_DATABASE);
          return RunningProcesses.start(join(folder, name), {
            EVENTSTORE_URL: await eventStoreUrl(),
            KAFKA_BROKERS,
            TOPIC_PREFIX: `${TOPIC_PREFIX}${name}.`,
            MONGO_URL,
            MONGO_DATABASE,
            CHAINS: chain.setting,
            EDGE_KEY: randomBytes(32).toString('base64'),
          });
        },
        () => readTopicInKafka(KAFKA_BROKERS, `${TOPIC_PREFIX}first.`),
      );
    });
  });
});
