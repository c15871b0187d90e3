import { randomUUID } from 'node:crypto';
import { afterAll } from '@jest/globals';
import kafkajs, { type Admin } from 'kafkajs';
import { pino } from 'pino';
import { KafkaMessageBus } from '../message-bus/message-bus.kafka.ts';

type KafkaBusSettings = Parameters<typeof KafkaMessageBus.connect>[0]['settings'];

/** Settings of a spec, with a prefix that makes its topics nobody else's. */
export const kafkaSettings = (brokers: string): KafkaBusSettings => ({
  KAFKA_BROKERS: brokers.split(','),
  KAFKA_SASL: undefined,
  KAFKA_TLS: undefined,
  KAFKA_ACKS: 'all',
  TOPIC_PREFIX: `test-${randomUUID()}.`,
  TOPIC_PARTITIONS: {},
});

/** The same; its topics are removed after the test file. */
export const kafkaForTests = (brokers: string): KafkaBusSettings => {
  const settings = kafkaSettings(brokers);
  afterAll(() =>
    asAdmin(settings.KAFKA_BROKERS, async (admin) => {
      const topics = (await admin.listTopics()).filter((name) => name.startsWith(settings.TOPIC_PREFIX));
      if (topics.length > 0) await admin.deleteTopics({ topics });
    }),
  );
  return settings;
};

export const connectForTests = (settings: KafkaBusSettings): Promise<KafkaMessageBus> =>
  KafkaMessageBus.connect({ settings, logger: pino({ level: 'silent' }) });

export const asAdmin = async <Answer>(brokers: string[], ask: (admin: Admin) => Promise<Answer>): Promise<Answer> => {
  const admin = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    return await ask(admin);
  } finally {
    await admin.disconnect();
  }
};
