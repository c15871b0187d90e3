import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { topics } from '../../../schemas/topics.ts';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import type { MessageBus, Offsets } from '../../../shared/message-bus/message-bus.ts';
import { BatchServer } from '../../../shared/message-bus/consumers/batch-server.ts';
import type { Logger } from 'pino';
import { CountEventsConsumer } from './count-events.consumer.ts';
import { EventCounts } from './event-counts.sqlite.ts';

const topic = topics.chainEvents;

@Module({})
class CountEvents {}

export interface Counting {
  /** Whether every message that was published before the start is counted. */
  isCaughtUp: () => boolean;
  /** Returns when the current batch is counted. */
  close: () => Promise<void>;
}

/**
 * Counts from the offsets that are stored with `counts`, or from the first message that is kept.
 * @throws CannotStart if a stored offset is beyond the end of the topic
 */
export const startCounting = async ({
  messageBus,
  counts,
  logger,
}: {
  messageBus: MessageBus;
  counts: EventCounts;
  logger: Logger;
}): Promise<Counting> => {
  const [earliest, latest] = await Promise.all([
    messageBus.offsets(topic, 'earliest'),
    messageBus.offsets(topic, 'latest'),
  ]);
  const stored = counts.next();
  if (isBehindAny(latest, stored))
    throw new CannotStart('the counts are of another topic: name another file by --counts');
  if (isBehindAny(stored, earliest)) logger.warn('messages may have been deleted before they were counted');
  const next = (): Offsets => new Map([...earliest, ...counts.next()]);
  const server = new BatchServer({ messageBus, logger, topics: [topic], startAt: () => Promise.resolve(next()) });
  const root = {
    module: CountEvents,
    controllers: [CountEventsConsumer],
    providers: [{ provide: EventCounts, useValue: counts }],
  };
  const app = await NestFactory.createMicroservice(root, { strategy: server, logger: false, abortOnError: false });
  await app.listen();
  return { isCaughtUp: () => !isBehindAny(next(), latest), close: () => app.close() };
};

/** Whether an offset of `some` is before that of the same partition in `others`. */
const isBehindAny = (some: Offsets, others: Offsets): boolean =>
  Array.from(some).some(([partition, offset]) => BigInt(offset) < BigInt(others.get(partition) ?? 0));
