import { randomUUID } from 'node:crypto';
import { afterAll, describe } from '@jest/globals';
import { dropDatabases } from '../../../shared/testing/engines/drop-databases.mongo.ts';
import { EventStoreServer } from '../../../shared/testing/event-store-server/event-store-server.esdb.ts';
import { whereServer } from '../../../shared/testing/engines/servers.ts';
import { kafkaForTests } from '../../../shared/testing/engines/test-bus.kafka.ts';
import { auditingContract } from './auditing.contract.ts';

whereServer('KAFKA_BROKERS', (KAFKA_BROKERS) => {
  whereServer('MONGO_URL', (MONGO_URL) => {
    const { TOPIC_PREFIX } = kafkaForTests(KAFKA_BROKERS);
    const MONGO_DATABASE = `audit-${randomUUID().slice(0, 8)}`;
    let eventStore: EventStoreServer | undefined;
    afterAll(async () => {
      await eventStore?.close();
      await dropDatabases(MONGO_URL, [MONGO_DATABASE]);
    });

    describe('docs/auditing.md, on EventStoreDB, Kafka and MongoDB', () => {
      auditingContract(async () => {
        eventStore = await EventStoreServer.start();
        return { EVENTSTORE_URL: eventStore.url, KAFKA_BROKERS, TOPIC_PREFIX, MONGO_URL, MONGO_DATABASE };
      });
    });
  });
});
