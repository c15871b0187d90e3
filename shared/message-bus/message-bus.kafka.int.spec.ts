import { connectForTests, kafkaForTests } from '../testing/kafka-topics.kafka.ts';
import { whereServer } from '../testing/servers.ts';
import { messageBusContract } from './message-bus.contract.ts';

whereServer('KAFKA_BROKERS', (brokers) => {
  const settings = kafkaForTests(brokers);
  messageBusContract('Kafka', () => connectForTests(settings));
});
