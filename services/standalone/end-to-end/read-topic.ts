import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';
import { topics } from '../../../schemas/topics.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { registerCodecs } from '../../../shared/message-bus/compression-codecs.kafka.ts';
import { SqliteMessageBus } from '../../../shared/message-bus/message-bus.sqlite.ts';

const topic = topics.chainEvents;
const READ_WITHIN_MS = 30_000;

export interface TopicMessage {
  headers: Readonly<Record<string, string>>;
  value: string;
}

/** Reads the topic of chain events of an embedded bus, from its beginning to its end. */
export const readTopicInFile = async (file: string): Promise<TopicMessage[]> => {
  const bus = new SqliteMessageBus(file);
  const messages: TopicMessage[] = [];
  try {
    const earliest = await bus.offsets(topic, 'earliest');
    const unread = new Map(
      Array.from(await bus.offsets(topic, 'latest')).filter(([at, end]) => end !== earliest.get(at)),
    );
    for await (const batch of bus.consume(topic, earliest, AbortSignal.timeout(READ_WITHIN_MS))) {
      for (const { headers, value } of batch.messages) messages.push({ headers, value: value ?? '' });
      const newest = BigInt(batch.messages.at(-1)?.offset ?? 0);
      if (newest + 1n >= BigInt(unread.get(batch.partition) ?? 0)) unread.delete(batch.partition);
      if (unread.size === 0) break;
    }
  } finally {
    await bus.close();
  }
  return messages;
};

/** Reads the topic of chain events of a Kafka, as a consumer does that knows only kafkajs. */
export const readTopicInKafka = async (brokers: string, prefix: string): Promise<TopicMessage[]> => {
  registerCodecs();
  const name = prefix + topic.name;
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
