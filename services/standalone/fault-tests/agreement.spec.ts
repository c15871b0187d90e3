import { beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { collections } from '../../../schemas/read-models/catalogue.ts';
import { allTopics, topics } from '../../../schemas/topics.ts';
import { MemoryEventStore } from '../../../shared/event-store/event-store.memory.ts';
import { MemoryMessageBus } from '../../../shared/message-bus/message-bus.memory.ts';
import { MemoryReadStore } from '../../../shared/read-store/read-store.memory.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { projections } from '../../projector/projections.ts';
import { projectionLoop } from '../../projector/run-projection/projection-loop.ts';
import { relayLoop } from '../../relay/publish-events/relay-loop.ts';
import { disagreements, everyEvent, everyMessage } from './agreement.ts';

const contract = 'chain-2484-0x5fbdb2315678afecb367f032d93f642f64180aa3';
const observed = (index: number) =>
  anEvent({
    type: 'ChainEventObserved',
    data: { ...(eventExamples.ChainEventObserved as JsonObject), LogIndex: index, Id: `log${String(index)}` },
  });

describe('agreement of what is derived with the event store', () => {
  let engines: { eventStore: MemoryEventStore; readStore: MemoryReadStore; messageBus: MemoryMessageBus };
  beforeEach(async () => {
    engines = {
      eventStore: new MemoryEventStore(),
      readStore: new MemoryReadStore(),
      messageBus: new MemoryMessageBus(),
    };
    await engines.readStore.define(collections);
    await engines.messageBus.createTopics(allTopics);
    await engines.eventStore.append('user-0x1', -1, [
      anEvent({ type: 'UserRegistered', data: { ...(eventExamples.UserRegistered as JsonObject), userId: '0x1' } }),
    ]);
    await engines.eventStore.append(contract, -1, [observed(0), observed(1), observed(2)]);
  });

  const found = async (derived: typeof engines): Promise<string[]> =>
    disagreements(await everyEvent(engines.eventStore), derived);

  const derive = async (): Promise<void> => {
    const options = { ...engines, logger: pino({ level: 'silent' }) };
    const loops = [...projections.map((projection) => projectionLoop(projection, options)), relayLoop(options)];
    for (const loop of loops) loop.start();
    const head = await engines.eventStore.head();
    await eventually(
      async () =>
        (
          await Promise.all(
            ['relay-v1', ...projections.map(({ name }) => name)].map((one) => engines.readStore.position(one)),
          )
        ).every((position) => position === head),
      5_000,
      'everything must reach the head',
    );
    await Promise.all(loops.map((loop) => loop.stop()));
  };

  it('is seen when all is derived, repeats of messages included', async () => {
    await derive();
    await engines.messageBus.publish(topics.chainEvents, await everyMessage(engines.messageBus, 'chainEvents'));
    expect(await found(engines)).toEqual([]);
  });

  it('is missed when nothing, or not all, is derived', async () => {
    expect(await found(engines)).not.toEqual([]);
    await derive();
    await engines.eventStore.append(contract, 2, [observed(3)]);
    expect(await found(engines)).toEqual([
      expect.stringMatching(/^chain-events: .*:000003:/),
      expect.stringMatching(/^chain-event-counts: /),
      expect.stringMatching(/^annals.chain-events.v1: eip155:2484/),
    ]);
  });

  it('is missed when a document differs, or there is one too many', async () => {
    await derive();
    await engines.readStore.apply('users-v1', [{ collection: 'users', id: '0x2', position: 1, document: {} }], 1);
    const [user] = await engines.readStore.find('users', { filter: { id: '0x1' } });
    await engines.readStore.apply(
      'users-v1',
      [{ collection: 'users', id: '0x1', position: 99, document: { ...user?.document, username: 'other' } }],
      1,
    );
    expect(await found(engines)).toEqual(['users: 0x1, 0x2 differ']);
  });

  it('is missed when a message is missing, or first comes in another order', async () => {
    await derive();
    const messages = await everyMessage(engines.messageBus, 'chainEvents');
    for (const wrong of [messages.slice(1), messages.toReversed()]) {
      const messageBus = new MemoryMessageBus();
      await messageBus.createTopics(allTopics);
      await messageBus.publish(topics.users, await everyMessage(engines.messageBus, 'users'));
      await messageBus.publish(topics.chainEvents, wrong);
      expect(await found({ ...engines, messageBus })).toEqual([
        expect.stringMatching(/^annals.chain-events.v1: .* differ$/),
      ]);
    }
  });
});
