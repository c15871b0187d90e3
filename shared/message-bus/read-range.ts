import type { Topic } from '../../schemas/topics.ts';
import { Refusal } from '../errors/refusal.ts';
import type { BusMessage, MessageBus } from './message-bus.ts';

/** How long reading messages that exist may take. */
const READ_TIMEOUT_MS = 10_000;

export interface OffsetRange {
  partition: number;
  from: string;
  /** The offset after the last message. */
  until: string;
}

/**
 * Yields the stored messages of a partition in a range of offsets, batch by batch, and ends.
 * @throws Refusal dependency_unavailable if nothing is received for 10 s, e.g. because all were deleted meanwhile; the
 * signal's reason once it aborts
 */
export async function* readRange(
  messageBus: Pick<MessageBus, 'consume'>,
  topic: Topic,
  { partition, from, until }: OffsetRange,
  signal: AbortSignal,
): AsyncGenerator<BusMessage[]> {
  if (BigInt(from) >= BigInt(until)) return;
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort();
  }, READ_TIMEOUT_MS);
  const ending = AbortSignal.any([signal, late.signal]);
  try {
    for await (const { messages } of messageBus.consume(topic, new Map([[partition, from]]), ending)) {
      const inRange = messages.filter(({ offset }) => BigInt(offset) < BigInt(until));
      if (inRange.length > 0) yield inRange;
      const last = messages.at(-1);
      if (last && BigInt(last.offset) + 1n >= BigInt(until)) return;
      timer.refresh();
    }
  } finally {
    clearTimeout(timer);
  }
  signal.throwIfAborted();
  throw new Refusal(
    'dependency_unavailable',
    `${topic.name} gave no message of partition ${String(partition)} in time`,
    {
      retryAfter: 1,
    },
  );
}
