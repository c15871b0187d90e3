import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { chainEventsStream, type ObservedRecord } from '../../../schemas/events/event-catcher/chain-events.ts';
import { topics } from '../../../schemas/topics.ts';
import type { Finality, Subscribe, Subscribed } from '../../../schemas/socket/stream-commands.ts';
import type { Change, StreamMessages } from '../../../schemas/socket/stream-messages.ts';
import { MemoryMessageBus } from '../../../shared/testing/engines/message-bus.memory.ts';
import type { BusBatch } from '../../../shared/message-bus/message-bus.ts';
import { BatchServer } from '../../../shared/message-bus/consumers/batch-server.ts';
import { Projections } from '../../../shared/edge/answers/projections.ts';
import { collections } from '../../../shared/read-models/catalogue.ts';
import type { EventStore, Position } from '../../../shared/event-store/event-store.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { MemoryReadStore } from '../../../shared/testing/engines/read-store.memory.ts';
import type { FindOptions, StoredDocument } from '../../../shared/read-store/read-store.ts';
import { TestClock, testFoundation } from '../../../shared/testing/test-foundation.ts';
import { composeStream, type StreamOptions } from '../compose-stream.ts';
import { StreamMetrics } from '../edge/stream-metrics.ts';
import { channelKey, cursorScope } from '../domain/channel.ts';
import { resumePointAfter } from '../../../shared/keys/stream-cursors.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { SendBuffer, Subscription } from '../domain/subscription.ts';
import type { Subscriber } from '../domain/subscriber.ts';
import { PageRequest } from '../connections/plain-http/page-request.ts';
import type { WrittenPage } from '../connections/plain-http/stream-pages.ts';
import { FakeCatcher, CHAIN_ID } from './fake-catcher.ts';

const TICKS_MAX = 20_000;
/** A page that does not wait for events, and has longer than it takes on any machine. */
const PAGE_TIMES = { waitMs: 0, collectingMs: 60_000 };

/** Waits tick by tick of the event loop, for what needs other code to run but no time to pass. */
export const withinTicks = async (isSo: () => boolean, otherwise: string): Promise<void> => {
  for (let ticks = 0; !isSo(); ticks += 1) {
    if (ticks === TICKS_MAX) throw new Error(otherwise);
    await yieldToEventLoop();
  }
};

const afterTicks = async (ticks: number): Promise<void> => {
  for (let tick = 0; tick < ticks; tick += 1) await yieldToEventLoop();
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
  readonly claimant = CALLER;
  readonly subscriptions = new Map<string, Subscription>();
  readonly emitted: { name: keyof StreamMessages; message: unknown; after: number }[] = [];
  answer: Subscribed | undefined;

  constructor(
    readonly buffer: MemoryBuffer,
    readonly holderKey = 'user:usr_1',
    readonly signal = new AbortController().signal,
  ) {}

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

/** Starts the feeds and subscriptions of a node, without loops. */
const nodeOn = async (given: Omit<StreamOptions, 'subscriptionsPerConnection'>) => {
  const { messageBus, logger } = given;
  const stream = composeStream({ ...given, subscriptionsPerConnection: Infinity });
  const { tail } = stream.latest;
  const server = new BatchServer({
    messageBus,
    logger,
    topics: [topics.chainEvents],
    startAt: () => tail.startAt(),
  });
  server.addHandler(topics.chainEvents.name, (batch: BusBatch) => tail.handleBatch(batch), true);
  server.listen(() => undefined);
  tail.loop.start();
  await withinTicks(() => tail.isCaughtUp, 'the node must catch up');
  return { ...stream, stop: () => Promise.all([server.close(), tail.loop.stop()]) };
};

const storing = (eventStore: EventStore, clock: TestClock, catcher: FakeCatcher) => ({
  /** Stores a change in the event store too, as the newest event of its contract. @returns its position */
  store: async (change: Change, record: ObservedRecord): Promise<Position> => {
    const stream = chainEventsStream(CHAIN_ID, record.ContractAddress);
    const [newest] = await eventStore.read(stream, { direction: 'backwards', limit: 1 });
    const type = change === 'observed' ? 'ChainEventObserved' : 'ChainEventReverted';
    const time = clock.now();
    const event = anEvent({ type, data: { ...record }, time });
    const { position } = await eventStore.append(stream, newest?.revision ?? -1, [event]);
    catcher.stored.push({ position, change, record, time });
    return position;
  },
  /** Stores an event of another stream. */
  storeElsewhere: async (): Promise<void> => {
    const appId = `app_${String(await eventStore.head())}`;
    await eventStore.append(`app-${appId}`, -1, [anEvent({ type: 'AppRevoked', data: { appId }, time: clock.now() })]);
  },
});

/** Feeds and subscriptions without sockets, on a clock that the test sets. */
export const feedUnderTest = async ({ messageBus = new MemoryMessageBus() } = {}) => {
  const clock = new TestClock();
  const foundation = await testFoundation({ clock });
  const { eventStore, edgeKey } = foundation;
  const readStore = new SlowReadStore();
  await readStore.define(collections);
  await messageBus.createTopics([topics.chainEvents]);
  const catcher = new FakeCatcher(messageBus, readStore, () => clock.now(), foundation.edgeKey);
  const projections = new Projections(readStore, eventStore);
  const metrics = new StreamMetrics();
  const startNode = () => nodeOn({ ...foundation, messageBus, readStore, projections, clock, metrics });
  let node = await startNode();
  const { cursors, channels } = node;
  return {
    ...{ clock, eventStore, edgeKey, projections },
    catcher,
    logged: foundation.logged,
    /** How many subscriptions caught up, by source. */
    resumes: async () => {
      const values = await metrics.resumes.measured.read();
      return Object.fromEntries(values.map(({ labels, value }) => [labels['source'] ?? '', value] as const));
    },
    messageBus,
    subscriptions: () => node.subscriptions,
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
    ...storing(eventStore, clock, catcher),
    /** Asks for a page over plain HTTP. */
    readPage: async (
      contractAddress: string,
      { take = 100, endsAfterTicks, ...options }: Partial<Subscribe> & { take?: number; endsAfterTicks?: number },
    ): Promise<WrittenPage> => {
      const subscriber = { caller: undefined, holderKey: 'user:usr_1', claimant: CALLER };
      const request = new PageRequest({ ...subscriber, signal: new AbortController().signal }, { take, ...PAGE_TIMES });
      if (endsAfterTicks !== undefined) void afterTicks(endsAfterTicks).then(() => request.disconnect());
      try {
        return await node.pages.read(request, { ...subscription(contractAddress), ...options });
      } finally {
        request.disconnect();
      }
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
    /** Returns the cursor of a query's answer that has everything up to a position. */
    cursorOfQuery: (contractAddress: string, position: number): string =>
      cursors.write(channelKey(subscription(contractAddress)), resumePointAfter(position)),
    /** Returns the position of the cursor in an answer. */
    positionOf: (answer: Subscribed | undefined): number =>
      cursors.read([answer?.channel.replace(/^[^/]+\//, '') ?? ''], answer?.cursor ?? '').position,
    close: async () => {
      await node.stop();
    },
    restart: async () => {
      await node.stop();
      node = await startNode();
    },
  };
};
