import { Inject, Injectable } from '@nestjs/common';
import { readModels } from '../../schemas/read-models/catalogue.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { ReadStore } from '../read-store/read-store.ts';
import { EVENT_STORE, READ_STORE } from './tokens.ts';

const PROBE_MS = 1_000;

export type DependencyState = 'up' | 'down';

/** Asks what this service cannot do without whether it answers. */
@Injectable()
export class Dependencies {
  constructor(
    @Inject(EVENT_STORE) private readonly eventStore: EventStore,
    @Inject(READ_STORE) private readonly readStore: ReadStore,
  ) {}

  /** At most a second, whatever they do. */
  async probe(): Promise<{ eventStore: DependencyState; readStore: DependencyState }> {
    const [eventStore, readStore] = await Promise.all([
      answers(() => this.eventStore.head()),
      answers(() => this.readStore.position(readModels.users.projection)),
    ]);
    return { eventStore, readStore };
  }
}

const answers = async (ask: () => Promise<unknown>): Promise<DependencyState> => {
  const { promise: late, resolve } = Promise.withResolvers<DependencyState>();
  const timer = setTimeout(resolve, PROBE_MS, 'down');
  try {
    return await Promise.race([ask().then((): DependencyState => 'up'), late]);
  } catch {
    return 'down';
  } finally {
    clearTimeout(timer);
  }
};
