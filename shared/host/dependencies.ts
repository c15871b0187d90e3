import { Inject, Injectable, Optional } from '@nestjs/common';
import { readModels } from '../../schemas/read-models/catalogue.ts';
import { topics } from '../../schemas/topics.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { MessageBus } from '../message-bus/message-bus.ts';
import { inTime } from '../primitives/in-time.ts';
import type { ReadStore } from '../read-store/read-store.ts';
import { EVENT_STORE, MESSAGE_BUS, READ_STORE } from './tokens.ts';

const PROBE_MS = 1_000;

export type DependencyState = 'up' | 'down';
type DependencyStates = {
  eventStore: DependencyState;
  readStore: DependencyState;
  /** Of a service that uses it. */
  messageBus?: DependencyState;
};

/** Asks what this service cannot do without whether it answers. */
@Injectable()
export class Dependencies {
  constructor(
    @Inject(EVENT_STORE) private readonly eventStore: EventStore,
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    @Optional() @Inject(MESSAGE_BUS) private readonly messageBus?: MessageBus,
  ) {}

  /** At most a second, whatever they do. */
  async probe(): Promise<DependencyStates> {
    const bus = this.messageBus;
    const [eventStore, readStore, messageBus] = await Promise.all([
      stateOf(() => this.eventStore.head()),
      stateOf(() => this.readStore.position(readModels.users.projection)),
      bus && stateOf(() => bus.offsets(topics.contracts, 'latest')),
    ]);
    return { eventStore, readStore, ...(messageBus && { messageBus }) };
  }
}

const stateOf = async (ask: () => Promise<number | object>): Promise<DependencyState> =>
  (await inTime(ask, PROBE_MS)) === undefined ? 'down' : 'up';
