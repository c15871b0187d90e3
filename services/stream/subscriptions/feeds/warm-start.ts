import { topics } from '../../../../schemas/topics.ts';
import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import type { GenuineMessages } from '../../../../shared/message-bus/genuine/genuine-messages.ts';
import type { MessageBus, Offsets } from '../../../../shared/message-bus/message-bus.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import type { MessageReader } from '../../domain/chain-message.ts';
import { RecentMessages } from '../../domain/recent-messages.ts';

const topic = topics.chainEvents;

/** A node starts to read this far back, so that clients that lost another node are served from memory. */
const WARM_UP_MS = 60_000;
/** How long reading an existing message may take. */
const READ_TIMEOUT_MS = 5_000;

export interface WarmStartOptions {
  messageBus: MessageBus;
  genuine: Pick<GenuineMessages, 'filter'>;
  reader: MessageReader;
  clock: Clock;
  eventStore: Pick<EventStore, 'head'>;
}

export interface WarmStart {
  /** The first offset to read. */
  offset: bigint;
  /** The offset after the newest message that there was. */
  end: bigint;
  recent: RecentMessages;
}

/** Where to begin. With `sinceMs`: no message before `offset` has an event stored at that time or later. */
interface Start {
  offset: bigint;
  sinceMs?: number;
}

/**
 * Finds where to begin to read a partition: a minute back, or at the newest message if that is older, so that a replay
 * of older messages overlaps with those in memory.
 */
export const warmStart = async (options: WarmStartOptions, partition: number): Promise<WarmStart> => {
  const { messageBus, clock, eventStore } = options;
  const warmMs = clock.now() - WARM_UP_MS;
  const [earliest, warm, latest] = await Promise.all([
    messageBus.offsets(topic, 'earliest'),
    messageBus.offsets(topic, warmMs),
    messageBus.offsets(topic, 'latest'),
  ]);
  // Whatever is stored after this head is published after these offsets.
  const head = await eventStore.head();
  const first = offsetIn(earliest, partition);
  const start = offsetIn(warm, partition);
  const newest = offsetIn(latest, partition) - 1n;
  const isEmpty = newest < first;
  let found: Start = { offset: isEmpty ? first : newest };
  if (!isEmpty) {
    const warmed = start <= newest ? { offset: start, sinceMs: warmMs } : undefined;
    found = warmed ?? (await firstOfTime(options, partition, newest)) ?? found;
  }
  const recent = new RecentMessages(isEmpty, found.sinceMs, head);
  return { offset: found.offset, end: newest + 1n, recent };
};

/**
 * Returns when the event of the newest message was stored, and the first offset of that time: this message may be a
 * later copy.
 * @returns `undefined` if the message cannot be read in time
 */
const firstOfTime = async (
  { messageBus, genuine, reader, clock }: WarmStartOptions,
  partition: number,
  newest: bigint,
): Promise<Start | undefined> => {
  const from = new Map([[partition, String(newest)]]);
  for await (const { messages } of messageBus.consume(topic, from, AbortSignal.timeout(READ_TIMEOUT_MS))) {
    const [message] = await genuine.filter(messages.slice(0, 1));
    const sinceMs = message && reader.message(message)?.storedAtMs;
    if (sinceMs === undefined) return { offset: newest, sinceMs: clock.now() - WARM_UP_MS };
    return { offset: offsetIn(await messageBus.offsets(topic, sinceMs), partition), sinceMs };
  }
  return undefined;
};

export const offsetIn = (offsets: Offsets, partition: number): bigint => BigInt(offsets.get(partition) ?? 0);
