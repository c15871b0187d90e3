import { topics, type Topic } from '../../../schemas/topics.ts';
import { SqliteMessageBus } from '../../../shared/message-bus/embedded/message-bus.sqlite.ts';
import { inSimulatedTime } from '../../../shared/testing/simulation/simulated-globals.ts';

/** In simulated time, which passes at once when nothing more can be read, and not before. */
const READ_WITHIN_MS = 30_000;

export interface TopicMessage {
  headers: Readonly<Record<string, string>>;
  value: string;
}

/** Reads a topic of an embedded bus, which must have a message, from its beginning to its end. */
export const readTopicInFile = (file: string, topic: Topic = topics.chainEvents): Promise<TopicMessage[]> =>
  inSimulatedTime(() => readToEnd(file, topic));

const readToEnd = async (file: string, topic: Topic): Promise<TopicMessage[]> => {
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
      if (unread.size === 0) return messages;
    }
  } finally {
    await bus.close();
  }
  throw new Error(`${topic.name} cannot be read to its end: ${String(messages.length)} messages were`);
};
