import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { topics } from '../../../schemas/topics.ts';
import { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import type { GenuineMessages } from '../../../shared/message-bus/genuine/genuine-messages.ts';
import type { BusBatch, MessageBus, Offsets } from '../../../shared/message-bus/message-bus.ts';
import type { Logger } from 'pino';
import { CatchUpTracker } from '../../../shared/loops/catch-up-tracker.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import { untilAborted } from '../../../shared/primitives/until-aborted.ts';
import type { ChainMessage, MessageReader } from '../domain/chain-message.ts';
import { RecentMessages } from '../domain/recent-messages.ts';

const topic = topics.chainEvents;

/** A node starts to read this far back, so that clients that lost another node are served from memory. */
const WARM_UP_MS = 60_000;
/** Sockets are served after every batch, and within a batch after this many messages of contracts with subscriptions. */
const MESSAGES_PER_TICK = 64;
const POLL_INTERVAL_MS = 1_000;
/** How long reading a message that exists may take. */
const READ_TIMEOUT_MS = 5_000;

interface LiveTailOptions {
  messageBus: MessageBus;
  genuine: Pick<GenuineMessages, 'of'>;
  reader: MessageReader;
  clock: Clock;
  /**
   * Called once per message, in position order per partition, when the message is in memory. Returns whether its
   * contract has subscriptions.
   */
  onMessage: (message: ChainMessage) => boolean;
  logger: Logger;
  /** A monotonic clock, in milliseconds. */
  now?: () => number;
}

/** Where to begin; `sinceMs`: from there on is every message whose event was stored since then. */
interface Start {
  offset: bigint;
  sinceMs?: number;
}

/** Receives every partition of the topic, and keeps the newest messages of each in memory. */
export class LiveTail {
  /** Queries the end of the topic every second. */
  readonly loop: SupervisedLoop;
  private partitions: ReadonlyMap<number, RecentMessages> = new Map();
  /** Offset of the next message to handle, by partition. */
  private nextOffsets = new Map<number, string>();
  /** Compares the offsets handled with the ends of the partitions. */
  private catchUpTracker = new CatchUpTracker<Offsets>();
  private readonly now: () => number;

  constructor(private readonly options: LiveTailOptions) {
    this.now = options.now ?? (() => performance.now());
    this.loop = new SupervisedLoop(`end of ${topic.name}`, options.logger, async (signal, reportRunning) => {
      while (!signal.aborted) {
        await untilAborted(this.queryEnd(), signal);
        reportRunning();
        await pause(POLL_INTERVAL_MS, signal);
      }
    });
  }

  /** Whether every message that was published up to a moment ago has been handled; false while that is not known. */
  get isCaughtUp(): boolean {
    return this.checkCaughtUp();
  }

  /** Returns `undefined` before `findStartOffsets` has succeeded. */
  recentMessages(partition: number): RecentMessages | undefined {
    return this.partitions.get(partition);
  }

  /**
   * Returns offsets a minute back, and at the newest message at the latest, so that a replay of older messages overlaps
   * with those in memory.
   */
  async findStartOffsets(): Promise<Offsets> {
    const { messageBus, clock } = this.options;
    await messageBus.createTopics([topic]);
    const askedAtMs = this.now();
    const warmMs = clock.now() - WARM_UP_MS;
    const [earliest, warm, latest] = await Promise.all([
      messageBus.offsets(topic, 'earliest'),
      messageBus.offsets(topic, warmMs),
      messageBus.offsets(topic, 'latest'),
    ]);
    const partitions = new Map<number, RecentMessages>();
    const from = new Map<number, string>();
    const find = async (partition: number): Promise<void> => {
      const first = offsetIn(earliest, partition);
      const start = offsetIn(warm, partition);
      const newest = offsetIn(latest, partition) - 1n;
      const isEmpty = newest < first;
      let found: Start = { offset: isEmpty ? first : newest };
      if (!isEmpty) {
        const warmStart = start <= newest ? { offset: start, sinceMs: warmMs } : undefined;
        found = warmStart ?? (await this.firstOfTime(partition, newest)) ?? found;
      }
      partitions.set(partition, new RecentMessages(isEmpty, found.sinceMs));
      from.set(partition, String(found.offset));
    };
    await Promise.all([...latest.keys()].map(find));
    this.partitions = partitions;
    // The topic may have been replaced: what was known of the old one is forgotten.
    this.nextOffsets = new Map(from);
    this.catchUpTracker = new CatchUpTracker();
    this.catchUpTracker.headWas(latest, askedAtMs);
    return from;
  }

  /**
   * Returns when the event of a message was stored, and the first offset of that time: the message may be a copy of the one that
   * is there. @returns `undefined` if it cannot be read in time
   */
  private async firstOfTime(partition: number, newest: bigint): Promise<Start | undefined> {
    const { messageBus, genuine, reader, clock } = this.options;
    const from = new Map([[partition, String(newest)]]);
    for await (const { messages } of messageBus.consume(topic, from, AbortSignal.timeout(READ_TIMEOUT_MS))) {
      const [message] = await genuine.of(messages.slice(0, 1));
      const sinceMs = message && reader.message(message)?.storedAtMs;
      if (sinceMs === undefined) return { offset: newest, sinceMs: clock.now() - WARM_UP_MS };
      return { offset: offsetIn(await messageBus.offsets(topic, sinceMs), partition), sinceMs };
    }
    return undefined;
  }

  /** Queries the end of the topic. */
  async queryEnd(): Promise<void> {
    const { messageBus } = this.options;
    const { catchUpTracker } = this;
    if (this.partitions.size === 0) return;
    const askedAtMs = this.now();
    const latest = await messageBus.offsets(topic, 'latest');
    const earliest = await messageBus.offsets(topic, 'earliest');
    // Meanwhile the start was looked for again.
    if (catchUpTracker !== this.catchUpTracker) return;
    // Messages that were deleted meanwhile need not be handled.
    for (const [partition, first] of earliest)
      if (BigInt(first) > offsetIn(this.nextOffsets, partition)) this.nextOffsets.set(partition, first);
    catchUpTracker.headWas(latest, askedAtMs);
    this.checkCaughtUp();
  }

  /** The batches of a partition must come in the order of their offsets; a batch may come again. */
  async handleBatch({ partition, messages }: BusBatch): Promise<void> {
    const recent = this.partitions.get(partition);
    let fannedOut = 0;
    for (const message of await this.options.genuine.of(messages)) {
      const chainMessage = this.options.reader.message(message);
      if (!chainMessage || !recent?.add(chainMessage)) continue;
      if (this.options.onMessage(chainMessage)) fannedOut += 1;
      if (fannedOut === MESSAGES_PER_TICK) {
        fannedOut = 0;
        await yieldToEventLoop();
      }
    }
    await yieldToEventLoop();
    const last = messages.at(-1);
    if (last) this.nextOffsets.set(partition, String(BigInt(last.offset) + 1n));
  }

  private checkCaughtUp(): boolean {
    const partitions = Array.from(this.partitions.keys());
    const hasReached = (ends: Offsets) =>
      partitions.every((partition) => offsetIn(ends, partition) <= offsetIn(this.nextOffsets, partition));
    return this.catchUpTracker.isCaughtUp(hasReached, this.now());
  }
}

const offsetIn = (offsets: Offsets, partition: number): bigint => BigInt(offsets.get(partition) ?? 0);
