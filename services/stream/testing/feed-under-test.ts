import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
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
import { cursorScope } from '../domain/channel.ts';
import { resumePointAfter } from '../domain/cursor.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { SendBuffer, Subscription } from '../domain/subscription.ts';
import type { Subscriber } from '../domain/subscriber.ts';
import { FakeCatcher, CHAIN_ID } from './fake-catcher.ts';

const TICKS_MAX = 20_000;

/** Waits tick by tick of the event loop, for what needs other code to run but no time to pass. */
export const withinTicks = async (isSo: () => boolean, otherwise: string): Promise<void> => {
  for (let ticks = 0; !isSo(); ticks += 1) {
    if (ticks === TICKS_MAX) throw new Error(otherwise);
    await yieldToEventLoop();
  }
};

/** Waits a tick before every answer, so that other code runs meanwhile, as with a database. */
class SlowReadStore extends MemoryReadStore {
  override async find(collection: string, options: FindOptions): Promise<StoredDocument[]> {
    await yieldToEventLoop();
    return super.find(collection, options);
  }

  override async position(projection: string): Promise<number> {
    await yieldToEventLoop();
    return super.position(projection);
  }
}

/** A client in memory that has room for so many deliveries, and reads them in the next tick. */
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
    await yieldToEventLoop();
    signal.throwIfAborted();
    this.waiting = 0;
  }

  countMissed(): void {
    // This client is never disconnected.
  }
}

const CALLER = { appId: 'app_1', userId: 'usr_1' };

export class MemorySubscriber implements Subscriber {
  readonly holderKey = 'user:usr_1';
  readonly claimant = CALLER;
  readonly subscriptions = new Map<string, Subscription>();
  readonly signal = new AbortController().signal;
  readonly emitted: { name: keyof StreamMessages; message: unknown; after: number }[] = [];
  answer: Subscribed | undefined;

  constructor(readonly buffer: MemoryBuffer) {}

  emit<Name extends keyof StreamMessages>(name: Name, message: StreamMessages[Name]): void {
    this.emitted.push({ name, message, after: this.buffer.sent.length });
  }
}

const subscription = (contractAddress: string): Subscribe => ({
  chainId: CHAIN_ID,
  contractAddress,
  eventSignature: 'Transfer',
  finality: 'latest',
});

/** Feeds and subscriptions without sockets, on a clock that the test sets. */
export const feedUnderTest = async () => {
  const clock = new TestClock();
  const foundation = await testFoundation({ clock });
  const { eventStore, edgeKey, logger, ids } = foundation;
  const readStore = new SlowReadStore();
  await readStore.define(collections);
  const messageBus = new MemoryMessageBus();
  await messageBus.createTopics([topics.chainEvents]);
  const catcher = new FakeCatcher(messageBus, readStore, () => clock.now(), foundation.edgeKey);
  const projections = new Projections(readStore, eventStore);
  const startNode = async () => {
    const subscriptionsPerConnection = Infinity;
    const options = {
      ...{ messageBus, readStore, eventStore, projections, edgeKey, subscriptionsPerConnection, clock, ids },
      logger,
    };
    const stream = composeStream(options);
    const { tail } = stream.latest;
    const server = new BatchServer({
      messageBus,
      logger,
      topics: [topics.chainEvents],
      startAt: () => tail.findStartOffsets(),
    });
    server.addHandler(topics.chainEvents.name, (batch: BusBatch) => tail.handleBatch(batch), true);
    server.listen(() => undefined);
    await withinTicks(() => tail.isCaughtUp, 'the node must catch up');
    return { ...stream, server };
  };
  let node = await startNode();
  const { cursors, channels } = node;
  return {
    clock,
    catcher,
    logged: foundation.logged,
    messageBus,
    subscribe: async (
      contractAddress: string,
      options: Partial<Subscribe> = {},
      room = 8,
      subscriber = new MemorySubscriber(new MemoryBuffer(room)),
    ): Promise<MemorySubscriber> => {
      // As each second, whatever the clock was set to.
      await catcher.announce();
      await node.catchers.look();
      await node.subscriptions.open(subscriber, { ...subscription(contractAddress), ...options }, (answer) => {
        subscriber.answer = answer;
      });
      return subscriber;
    },
    /** Replaces the loop of the finalized feed. */
    offerNewlyFinalized: () => node.finalized.offerNewlyFinalized(),
    historyOptions: { readStore, cursors, clock },
    channelOf: async (contractAddress: string) => (await channels.find(subscription(contractAddress), CALLER)).channel,
    /** Returns the cursor of the event at a position. */
    cursorOf: async (contractAddress: string, position: number, finality: Finality = 'latest'): Promise<string> => {
      const { channel } = await channels.find({ ...subscription(contractAddress), finality }, CALLER);
      return cursors.write(cursorScope(channel), resumePointAfter(position));
    },
    /** Returns the position of the cursor in an answer. */
    positionOf: (answer: Subscribed | undefined): number =>
      cursors.read(answer?.channel.replace(/^[^/]+\//, '') ?? '', answer?.cursor ?? '').position,
    close: async () => {
      await node.server.close();
    },
    restart: async () => {
      await node.server.close();
      node = await startNode();
    },
  };
};
