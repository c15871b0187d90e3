import { setImmediate as letOthersWork } from 'node:timers/promises';
import { topics } from '../../../schemas/topics.ts';
import { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import type { BusBatch, MessageBus, Offsets } from '../../../shared/message-bus/message-bus.ts';
import type { Logger } from 'pino';
import { CatchUpTracker } from '../../../shared/loops/catch-up-tracker.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import { untilAborted } from '../../../shared/primitives/until-aborted.ts';
import type { ChainMessage, MessageReader } from '../domain/chain-message.ts';
import { RecentMessages } from '../domain/recent-messages.ts';

const topic = topics.chainEvents;

/** A start looks back this far, so that clients that lost another node are served from memory. */
const WARM_UP_MS = 60_000;
/** Sockets get their turn after every batch, and after so many messages that somebody listened to. */
const MESSAGES_PER_TURN = 64;
const LOOK_EVERY_MS = 1_000;

interface LiveTailOptions {
  messageBus: MessageBus;
  reader: MessageReader;
  clock: Clock;
  /** Called once per message, in position order per partition, when it is at hand. @returns whether it kept anybody busy */
  onMessage: (message: ChainMessage) => boolean;
  logger: Logger;
  /** Milliseconds that never go back. */
  now?: () => number;
}

/** Is given every partition of the topic and remembers the newest messages of each. */
export class LiveTail {
  /** Looks every second how far the topic goes. */
  readonly loop: SupervisedLoop;
  private partitions: ReadonlyMap<number, RecentMessages> = new Map();
  /** Where what is not taken begins. */
  private takenTo = new Map<number, string>();
  /** With where the partitions ended. */
  private pace = new CatchUpTracker<Offsets>();
  private readonly now: () => number;

  constructor(private readonly options: LiveTailOptions) {
    this.now = options.now ?? (() => performance.now());
    this.loop = new SupervisedLoop(`end of ${topic.name}`, options.logger, async (signal, working) => {
      while (!signal.aborted) {
        await untilAborted(this.look(), signal);
        working();
        await pause(LOOK_EVERY_MS, signal);
      }
    });
  }

  /** Whether all that was published up to a moment ago has been read; not known means no. */
  get isCaughtUp(): boolean {
    return this.judge();
  }

  /** `undefined` before the first start has found the topic. */
  ofPartition(partition: number): RecentMessages | undefined {
    return this.partitions.get(partition);
  }

  /** A little before the end, and at least at the newest message: then what is at hand always meets what is read back. */
  async findStart(): Promise<Offsets> {
    const { messageBus, clock } = this.options;
    await messageBus.createTopics([topic]);
    const askedAtMs = this.now();
    const [earliest, warm, latest] = await Promise.all([
      messageBus.offsets(topic, 'earliest'),
      messageBus.offsets(topic, clock.now() - WARM_UP_MS),
      messageBus.offsets(topic, 'latest'),
    ]);
    const partitions = new Map<number, RecentMessages>();
    const from = new Map<number, string>();
    for (const partition of latest.keys()) {
      const first = offsetIn(earliest, partition);
      const start = offsetIn(warm, partition);
      const newest = offsetIn(latest, partition) - 1n;
      const isEmpty = newest < first;
      partitions.set(partition, new RecentMessages(isEmpty));
      from.set(partition, String(isEmpty ? first : start < newest ? start : newest));
    }
    this.partitions = partitions;
    // Where the topic is another one now, what there was to reach is no more.
    this.takenTo = new Map(from);
    this.pace = new CatchUpTracker();
    this.pace.headWas(latest, askedAtMs);
    return from;
  }

  /** Asks how far the topic goes. */
  async look(): Promise<void> {
    const { messageBus } = this.options;
    const { pace } = this;
    if (this.partitions.size === 0) return;
    const askedAtMs = this.now();
    const latest = await messageBus.offsets(topic, 'latest');
    const earliest = await messageBus.offsets(topic, 'earliest');
    if (pace !== this.pace) return;
    // What was deleted meanwhile need not be taken.
    for (const [partition, first] of earliest)
      if (BigInt(first) > offsetIn(this.takenTo, partition)) this.takenTo.set(partition, first);
    pace.headWas(latest, askedAtMs);
    this.judge();
  }

  /** Batches of a partition must come in its order; one may come again. */
  async take({ partition, messages }: BusBatch): Promise<void> {
    const recent = this.partitions.get(partition);
    let busy = 0;
    for (const message of messages) {
      const chainMessage = this.options.reader.message(message);
      if (!chainMessage || !recent?.add(chainMessage)) continue;
      if (this.options.onMessage(chainMessage)) busy += 1;
      if (busy === MESSAGES_PER_TURN) {
        busy = 0;
        await letOthersWork();
      }
    }
    await letOthersWork();
    const last = messages.at(-1);
    if (last) this.takenTo.set(partition, String(BigInt(last.offset) + 1n));
  }

  private judge(): boolean {
    const partitions = Array.from(this.partitions.keys());
    const isTaken = (ends: Offsets) =>
      partitions.every((partition) => offsetIn(ends, partition) <= offsetIn(this.takenTo, partition));
    return this.pace.isCaughtUp(isTaken, this.now());
  }
}

const offsetIn = (offsets: Offsets, partition: number): bigint => BigInt(offsets.get(partition) ?? 0);
