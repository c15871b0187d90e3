import { isAborted } from '../primitives/waiting/is-aborted.ts';
import { whenEitherRings, type WakeUp } from '../primitives/waiting/wake-up.ts';
import { followed } from './followed-partitions.ts';
import { TopicReplaced, type BusBatch, type BusMessage, type WhereToRead } from './message-bus.ts';

interface Polling {
  topicName: string;
  from: WhereToRead;
  /** Returns the end of the partition, or a later offset. */
  end: (partition: number) => number;
  /** Returns at most one batch of messages; none at the end of the partition. */
  read: (partition: number, offset: number) => BusMessage[];
  /** Rings when there may be more messages. */
  more: WakeUp;
  signal: AbortSignal;
}

/**
 * Reads the partitions in turn, again and again, until the signal aborts.
 * @throws TopicReplaced
 */
export async function* pollPartitions({
  topicName,
  end,
  read,
  more,
  signal,
  ...given
}: Polling): AsyncGenerator<BusBatch> {
  const from = followed(given.from);
  for (const { partition, offset } of from) {
    if (Number(offset) > end(partition)) throw new TopicReplaced(topicName, partition, offset);
  }
  from.readingBegins();
  while (!signal.aborted) {
    const [seen, changesSeen] = [more.rung, from.changes.rung];
    let isIdle = true;
    for (const place of from) {
      const { partition, offset } = place;
      const messages = read(partition, Number(offset));
      const last = messages.at(-1);
      if (!last) continue;
      isIdle = false;
      yield { partition, messages };
      if (isAborted(signal)) return;
      place.offset = String(Number(last.offset) + 1);
    }
    if (isIdle) await whenEitherRings([more, seen], [from.changes, changesSeen], signal);
  }
}
