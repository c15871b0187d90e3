import { setImmediate as turn } from 'node:timers/promises';
import { topics } from '../../../schemas/topics.ts';
import type { Finality, Subscribe, Subscribed } from '../../../schemas/socket/stream-commands.ts';
import type { StreamMessages } from '../../../schemas/socket/stream-messages.ts';
import { MemoryMessageBus } from '../../../shared/message-bus/message-bus.memory.ts';
import type { BusBatch } from '../../../shared/message-bus/message-bus.ts';
import { BatchServer } from '../../../shared/message-bus/batch-server.ts';
import { Projections } from '../../../shared/edge/projections.ts';
import { collections } from '../../../shared/read-models/catalogue.ts';
import { MemoryReadStore } from '../../../shared/read-store/read-store.memory.ts';
import type { FindOptions, StoredDocument } from '../../../shared/read-store/read-store.ts';
import { TestClock, testFoundation } from '../../../shared/testing/test-foundation.ts';
import { composeStream } from '../compose-stream.ts';
import { channelName } from '../domain/channel.ts';
import { placeOf } from '../domain/cursor.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { SendBuffer, Subscription } from '../domain/subscription.ts';
import type { Subscriber } from '../domain/subscriber.ts';
import { CatcherStandIn, CHAIN_ID } from './catcher-stand-in.ts';

const TURNS_MAX = 20_000;

/** Waits turn by turn: for what takes no time, only its turn. */
export const inAFewTurns = async (isSo: () => boolean, otherwise: string): Promise<void> => {
  for (let turns = 0; !isSo(); turns += 1) {
    if (turns === TURNS_MAX) throw new Error(otherwise);
    await turn();
  }
};

/** Lets everything else go on before every answer, as a database does. */
class SlowReadStore extends MemoryReadStore {
  override async find(collection: string, options: FindOptions): Promise<StoredDocument[]> {
    await turn();
    return super.find(collection, options);
  }

  override async position(projection: string): Promise<number> {
    await turn();
    return super.position(projection);
  }
}

/** A client in memory that takes so many deliveries at a time, and then reads them in the next turn. */
export class MemoryBuffer implements SendBuffer {
  readonly sent: Delivery[] = [];
  private waiting = 0;

  constructor(private readonly room: number) {}

  get hasRoom(): boolean {
    return this.waiting < this.room;
  }

  send(delivery: Delivery): void {
    this.waiting += 1;
    this.sent.push(delivery);
  }

  async drained(signal: AbortSignal): Promise<void> {
    await turn();
    signal.throwIfAborted();
    this.waiting = 0;
  }

  missed(): void {
    // Nobody is cut off here.
  }
}

export class MemorySubscriber implements Subscriber {
  readonly subscriptions = new Map<string, Subscription>();
  readonly signal = new AbortController().signal;
  readonly told: { name: keyof StreamMessages; message: unknown; after: number }[] = [];
  answer: Subscribed | undefined;

  constructor(readonly buffer: MemoryBuffer) {}

  tell<Name extends keyof StreamMessages>(name: Name, message: StreamMessages[Name]): void {
    this.told.push({ name, message, after: this.buffer.sent.length });
  }
}

const subscription = (contractAddress: string): Subscribe => ({
  chainId: CHAIN_ID,
  contractAddress,
  eventSignature: 'Transfer',
  finality: 'latest',
});

/** Feeds and subscriptions without sockets, on a clock that a test moves. */
export const feedUnderTest = async () => {
  const clock = new TestClock();
  const foundation = await testFoundation({ clock });
  const { eventStore, masterKey, logger, ids } = foundation;
  const readStore = new SlowReadStore();
  await readStore.define(collections);
  const messageBus = new MemoryMessageBus();
  await messageBus.createTopics([topics.chainEvents]);
  const catcher = new CatcherStandIn(messageBus, readStore, () => clock.now());
  const projections = new Projections(readStore, eventStore);
  const startNode = async () => {
    const subscriptionsPerConnection = Infinity;
    const options = { messageBus, readStore, projections, masterKey, subscriptionsPerConnection, clock, ids, logger };
    const stream = composeStream(options);
    const { tail } = stream.latest;
    const server = new BatchServer({
      messageBus,
      logger,
      topics: [topics.chainEvents],
      startAt: () => tail.findStart(),
    });
    server.addHandler(topics.chainEvents.name, (batch: BusBatch) => tail.take(batch), true);
    server.listen(() => undefined);
    await inAFewTurns(() => tail.isCaughtUp, 'the node must catch up');
    return { ...stream, server };
  };
  let node = await startNode();
  const { cursors, channels } = node;
  return {
    clock,
    catcher,
    logged: foundation.logged,
    subscribe: async (
      contractAddress: string,
      options: Partial<Subscribe> = {},
      room = 8,
    ): Promise<MemorySubscriber> => {
      const subscriber = new MemorySubscriber(new MemoryBuffer(room));
      await node.subscriptions.open(subscriber, { ...subscription(contractAddress), ...options }, (answer) => {
        subscriber.answer = answer;
      });
      return subscriber;
    },
    /** Instead of the feed's own loop. */
    lookForFinalized: () => node.finalized.advance(),
    historyOptions: { readStore, cursors, clock },
    channelOf: (contractAddress: string) => channels.find(subscription(contractAddress)),
    /** Of the event at a position. */
    cursorOf: async (contractAddress: string, position: number, finality: Finality = 'latest'): Promise<string> => {
      const channel = await channels.find({ ...subscription(contractAddress), finality });
      return cursors.write(channelName(channel), placeOf(position));
    },
    /** Where a subscription stood when it was answered. */
    positionOf: (answer: Subscribed | undefined): number =>
      cursors.read(answer?.channel ?? '', answer?.cursor ?? '').position,
    close: async () => {
      await node.server.close();
    },
    restart: async () => {
      await node.server.close();
      node = await startNode();
    },
  };
};
