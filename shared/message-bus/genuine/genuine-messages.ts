import type { Logger } from 'pino';
import type { Topic } from '../../../schemas/topics.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import type { Measured } from '../../host/health/measure.ts';
import { LogThrottle } from '../../primitives/log-throttle.ts';
import type { ReadStore } from '../../read-store/read-store.ts';
import type { BusMessage, MessageBus } from '../message-bus.ts';
import type { MessageMacs } from './message-macs.ts';
import { signedFrom, type SignedFrom } from './signed-from.ts';

/** Why a message is taken for somebody else's. */
const reasons = {
  forged: 'its signature is wrong',
  unsigned: 'it has no signature',
  misplaced: "it is not in its key's partition",
  ahead: 'its position is beyond the head of the event store',
} as const;
type Reason = keyof typeof reasons;

interface GenuineMessagesOptions {
  macs: MessageMacs;
  messageBus: Pick<MessageBus, 'partitionOf' | 'isPrivate'>;
  readStore: Pick<ReadStore, 'announcements'>;
  eventStore: Pick<EventStore, 'head'>;
  logger: Logger;
}

/**
 * Drops messages of a topic that the relay did not publish, logs and counts them. Otherwise anybody who may write to a
 * topic could publish events that nobody observed, or a position that hides all later events.
 */
export class GenuineMessages {
  private from: SignedFrom | undefined;
  private readonly refused = new Map<Reason, number>();
  private readonly reported = new LogThrottle();

  constructor(
    private readonly topic: Topic,
    private readonly options: GenuineMessagesOptions,
  ) {}

  async filter(messages: readonly BusMessage[]): Promise<readonly BusMessage[]> {
    if (this.options.messageBus.isPrivate) return messages;
    const genuine: BusMessage[] = [];
    for (const message of messages) {
      const reason = await this.reasonAgainst(message);
      if (reason) this.refuse(reason, message);
      else genuine.push(message);
    }
    return genuine;
  }

  get measured(): Measured {
    return {
      name: 'annals_stream_messages_refused',
      help: 'Messages of the topic that the relay did not publish, since this process started.',
      labelNames: ['reason'],
      read: () =>
        Promise.resolve(
          (Object.keys(reasons) as Reason[]).map((reason) => ({
            labels: { reason },
            value: this.refused.get(reason) ?? 0,
          })),
        ),
    };
  }

  private reasonAgainst(message: BusMessage): Reason | undefined | Promise<Reason | undefined> {
    if (message.partition !== this.options.messageBus.partitionOf(this.topic, message.key)) return 'misplaced';
    const found = this.options.macs.check(this.topic, message);
    if (found === 'signed') return undefined;
    return found === 'forged' ? found : this.reasonAgainstUnsigned(message);
  }

  /** An unsigned message is the relay's only before the first signed one. */
  private async reasonAgainstUnsigned({ partition, offset, headers }: BusMessage): Promise<Reason | undefined> {
    const { readStore, eventStore } = this.options;
    const position = Number(headers['ce_position'] ?? 0);
    this.from ??= await signedFrom({ readStore }, this.topic);
    // No relay that signs has run yet.
    if (!this.from) return position > (await eventStore.head()) ? 'ahead' : undefined;
    const isBefore = BigInt(offset) < BigInt(this.from.offsets.get(partition) ?? 0);
    return isBefore && position <= this.from.position ? undefined : 'unsigned';
  }

  private refuse(reason: Reason, { partition, offset, key }: BusMessage): void {
    this.refused.set(reason, (this.refused.get(reason) ?? 0) + 1);
    const { name } = this.topic;
    this.options.logger[this.reported.isDue(reason) ? 'warn' : 'debug'](
      { topic: name, partition, offset, key, reason },
      `a message of ${name} is not from the relay and is skipped: ${reasons[reason]}`,
    );
  }
}
