import { setImmediate as letOthersWork } from 'node:timers/promises';
import { topics } from '../../../schemas/topics.ts';
import { SupervisedLoop } from '../../../shared/lifecycle/supervised-loop.ts';
import type { BusBatch, MessageBus, Offsets } from '../../../shared/message-bus/message-bus.ts';
import type { Logger } from '../../../shared/observability/logger.ts';
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
  logger: Logger;
  /** Called once per message, in position order per partition, when it is at hand. @returns whether it kept anybody busy */
  onMessage: (message: ChainMessage) => boolean;
}

/** Follows every partition of the topic and remembers the newest messages of each. */
export class LiveTail {
  readonly loop: SupervisedLoop;
  private partitions: RecentMessages[] = [];
  /** Where to go on, by partition. */
  private readonly next = new Map<number, string>();
  /** Last offset that was there at the start, by partition, until it is reached. */
  private readonly behind = new Map<number, bigint>();

  constructor(private readonly options: LiveTailOptions) {
    this.loop = new SupervisedLoop('live tail', options.logger, (signal, working) => this.follow(signal, working));
  }

  /** Whether all that was published before the start has been read. */
  get isCaughtUp(): boolean {
    return this.partitions.length > 0 && this.behind.size === 0;
  }

  /** `undefined` before the first start has found the topic. */
  ofPartition(partition: number): RecentMessages | undefined {
    return this.partitions[partition];
  }

  private async follow(signal: AbortSignal, working: () => void): Promise<void> {
    if (this.partitions.length === 0) await this.findStart();
    working();
    for await (const batch of this.options.messageBus.consume(topic, this.next, signal)) {
      await this.take(batch);
      working();
    }
  }

  /** A little before the end, and at least at the newest message: then what is at hand always meets what is read back. */
  private async findStart(): Promise<void> {
    const { messageBus, clock } = this.options;
    await messageBus.createTopics([topic]);
    const [earliest, warm, latest] = await Promise.all([
      messageBus.offsets(topic, 'earliest'),
      messageBus.offsets(topic, clock.now() - WARM_UP_MS),
      messageBus.offsets(topic, 'latest'),
    ]);
    const partitions: RecentMessages[] = [];
    for (let partition = 0; partition < topic.partitions; partition += 1) {
      const first = offsetIn(earliest, partition);
      const start = offsetIn(warm, partition);
      const newest = offsetIn(latest, partition) - 1n;
      const isEmpty = newest < first;
      partitions.push(new RecentMessages(isEmpty));
      this.next.set(partition, String(isEmpty ? first : start < newest ? start : newest));
      if (!isEmpty) this.behind.set(partition, newest);
    }
    this.partitions = partitions;
  }

  private async take({ partition, messages }: BusBatch): Promise<void> {
    let busy = 0;
    for (const message of messages) {
      const chainMessage = this.options.reader.message(message);
      if (!chainMessage || !this.partitions[partition]?.add(chainMessage)) continue;
      if (this.options.onMessage(chainMessage)) busy += 1;
      if (busy === MESSAGES_PER_TURN) {
        busy = 0;
        await letOthersWork();
      }
    }
    await letOthersWork();
    const last = messages.at(-1);
    if (!last) return;
    this.next.set(partition, String(BigInt(last.offset) + 1n));
    if (BigInt(last.offset) >= (this.behind.get(partition) ?? 0n)) this.behind.delete(partition);
  }
}

const offsetIn = (offsets: Offsets, partition: number): bigint => BigInt(offsets.get(partition) ?? 0);
