import { randomUUID } from 'node:crypto';
import { afterAll } from '@jest/globals';
import { pino } from 'pino';
import { KafkaMessageBus } from '../../message-bus/kafka/message-bus.kafka.ts';
import { deleteTopics } from './kafka-admin.kafka.ts';

type KafkaBusSettings = Parameters<typeof KafkaMessageBus.connect>[0]['settings'];

/** Settings of a spec, with a unique prefix for its topics. */
export const kafkaSettings = (brokers: string): KafkaBusSettings => ({
  KAFKA_BROKERS: brokers.split(','),
  KAFKA_SASL: undefined,
  KAFKA_TLS: undefined,
  KAFKA_ACKS: 'all',
  KAFKA_COMPRESSION: 'zstd',
  TOPIC_PREFIX: `test-${randomUUID()}.`,
  TOPIC_PARTITIONS: {},
});

/** The same settings; the topics are removed after the test file. */
export const kafkaForTests = (brokers: string): KafkaBusSettings => {
  const settings = kafkaSettings(brokers);
  afterAll(() => deleteTopics(settings.KAFKA_BROKERS, settings.TOPIC_PREFIX));
  return settings;
};

export const connectForTests = (settings: KafkaBusSettings): Promise<KafkaMessageBus> =>
  KafkaMessageBus.connect({ settings, logger: pino({ level: 'silent' }) });
