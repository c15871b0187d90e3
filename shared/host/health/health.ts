import { join } from 'node:path';
import { topics } from '../../../schemas/topics.ts';
import type { Settings } from '../../config/settings.ts';
import { isDamaged } from '../../primitives/sqlite/damage/damaged-files.ts';
import { inTime } from '../../primitives/waiting/in-time.ts';
import type { Engines } from '../engines/engines.ts';
import type { WatchedEventStore } from '../engines/watched-event-store.ts';

const ANSWER_WITHIN_MS = 1_000;

/**
 * Further conditions of readiness, by name, such as "caught up". A condition without an answer within a second is
 * false.
 */
export type Readiness = Record<string, () => boolean | Promise<boolean>>;

type DependencyState = 'up' | 'down';
type DependencyStates = {
  eventStore: DependencyState;
  readStore: DependencyState;
  /** Only for a part that uses the message bus. */
  messageBus?: DependencyState;
};

export interface HealthReport {
  isReady: boolean;
  dependencies: DependencyStates;
  conditions: Record<string, boolean>;
}

type HealthEngines = { settings: Pick<Settings, 'DATA_DIR'> } & Pick<Engines, 'readStore'> &
  Partial<Engines> & { eventStore: Engines['eventStore'] & Partial<Pick<WatchedEventStore, 'writesFail'>> };

/** Reports whether a part of this process can work now. */
export class Health {
  constructor(
    private readonly engines: HealthEngines,
    private readonly readiness: Readiness,
  ) {}

  /** Reports whether each engine answers within a second and is not damaged, and the event store can be written to. */
  async dependencies(): Promise<DependencyStates> {
    const { eventStore, readStore, messageBus, settings } = this.engines;
    const damaged = (name: string) => isDamaged(join(settings.DATA_DIR, name));
    const [events, documents, messages] = await Promise.all([
      stateOf(() => eventStore.head()),
      stateOf(() => readStore.position('health')),
      messageBus && stateOf(() => messageBus.offsets(topics.contracts, 'latest')),
    ]);
    return {
      eventStore: eventStore.writesFail || damaged('events.db') ? 'down' : events,
      readStore: damaged('read.db') ? 'down' : documents,
      ...(messages && { messageBus: damaged('bus.db') ? 'down' : messages }),
    };
  }

  async report(): Promise<HealthReport> {
    const holds = async ([name, ask]: [string, Readiness[string]]) =>
      [name, (await inTime(ask, ANSWER_WITHIN_MS)) ?? false] as const;
    const [dependencies, conditions] = await Promise.all([
      this.dependencies(),
      Promise.all(Object.entries(this.readiness).map(holds)),
    ]);
    const isReady =
      Object.values(dependencies).every((state) => state === 'up') && conditions.every(([, isMet]) => isMet);
    return { isReady, dependencies, conditions: Object.fromEntries(conditions) };
  }
}

const stateOf = async (ask: () => Promise<number | object>): Promise<DependencyState> =>
  (await inTime(ask, ANSWER_WITHIN_MS)) === undefined ? 'down' : 'up';
