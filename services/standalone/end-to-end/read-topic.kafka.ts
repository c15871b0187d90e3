import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';
import { topics } from '../../../schemas/topics.ts';
import { registerCodecs } from '../../../shared/message-bus/kafka/client/compression-codecs.kafka.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import type { TopicMessage } from './read-topic.ts';

const READ_WITHIN_MS = 30_000;

/** Reads the topic of chain events of a Kafka, as a consumer that knows only kafkajs. */
export const readTopicInKafka = async (brokers: string, prefix: string): Promise<TopicMessage[]> => {
  registerCodecs();
  const name = prefix + topics.chainEvents.name;
  const kafka = new kafkajs.Kafka({ brokers: brokers.split(','), logLevel: kafkajs.logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  const ends = await admin.fetchTopicOffsets(name);
  await admin.disconnect();
  const count = ends.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
  const messages: TopicMessage[] = [];
  const consumer = kafka.consumer({ groupId: randomUUID(), maxWaitTimeInMs: 50 });
  await consumer.connect();
  await consumer.subscribe({ topics: [name], fromBeginning: true });
  await consumer.run({
    eachMessage: ({ message }) => {
      const headers = Object.entries(message.headers ?? {}).map(([header, text]) => [header, String(text)] as const);
      messages.push({ headers: Object.fromEntries(headers), value: String(message.value) });
      return Promise.resolve();
    },
  });
  try {
    await eventually(() => messages.length >= count, READ_WITHIN_MS, 'the consumer must read the topic to its end');
  } finally {
    await consumer.disconnect();
  }
  return messages;
};
