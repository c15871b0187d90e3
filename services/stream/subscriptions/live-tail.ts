import { setImmediate as letOthersWork } from 'node:timers/promises';
import { topics } from '../../../schemas/topics.ts';
import type { BusBatch, MessageBus, Offsets } from '../../../shared/message-bus/message-bus.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { ChainMessage, MessageReader } from '../domain/chain-message.ts';
import { RecentMessages } from '../domain/recent-messages.ts';

const topic = topics.chainEvents;

/** A start looks back this far, so that clients that lost another node are served from memory. */
const WARM_UP_MS = 60_000;
/** Sockets get their turn after every batch, and after so many messages that somebody listened to. */
const MESSAGES_PER_TURN = 64;

interface LiveTailOptions {
  messageBus: MessageBus;
  reader: MessageReader;
  clock: Clock;
  /** Called once per message, in position order per partition, when it is at hand. @returns whether it kept anybody busy */
  onMessage: (message: ChainMessage) => boolean;
}

/** Is given every partition of the topic and remembers the newest messages of each. */
export class LiveTail {
  private partitions: ReadonlyMap<number, RecentMessages> = new Map();
  /** Last offset that was there at the start, by partition, until it is reached. */
  private readonly behind = new Map<number, bigint>();

  constructor(private readonly options: LiveTailOptions) {}

  /** Whether all that was published before the start has been read. */
  get isCaughtUp(): boolean {
    return this.partitions.size > 0 && this.behind.size === 0;
  }

  /** `undefined` before the first start has found the topic. */
  ofPartition(partition: number): RecentMessages | undefined {
    return this.partitions.get(partition);
  }

  /** A little before the end, and at least at the newest message: then what is at hand always meets what is read back. */
  async findStart(): Promise<Offsets> {
    const { messageBus, clock } = this.options;
    await messageBus.createTopics([topic]);
    const [earliest, warm, latest] = await Promise.all([
      messageBus.offsets(topic, 'earliest'),
      messageBus.offsets(topic, clock.now() - WARM_UP_MS),
      messageBus.offsets(topic, 'latest'),
    ]);
    // Where the topic is another one now, what there was to reach is no more.
    this.behind.clear();
    const partitions = new Map<number, RecentMessages>();
    const from = new Map<number, string>();
    for (const partition of latest.keys()) {
      const first = offsetIn(earliest, partition);
      const start = offsetIn(warm, partition);
      const newest = offsetIn(latest, partition) - 1n;
      const isEmpty = newest < first;
      partitions.set(partition, new RecentMessages(isEmpty));
      from.set(partition, String(isEmpty ? first : start < newest ? start : newest));
      if (!isEmpty) this.behind.set(partition, newest);
    }
    this.partitions = partitions;
    return from;
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
    if (last && BigInt(last.offset) >= (this.behind.get(partition) ?? 0n)) this.behind.delete(partition);
  }
}

const offsetIn = (offsets: Offsets, partition: number): bigint => BigInt(offsets.get(partition) ?? 0);
