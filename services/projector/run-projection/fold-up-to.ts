import type { EventSealing } from '../../../shared/event-store/transactions/event-sealing.ts';
import type { EventStore, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { ReadModel } from '../../../shared/read-models/read-model.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { BatchProjector } from './project-batch.ts';

const EVENTS_PER_READ = 1_000;
/** Where steps have to wait for their turn, other work of the thread must not wait long for a step. */
const EVENTS_PER_THROTTLED_READ = 200;

/** Does a step of a long work, when its turn has come. */
export type Throttle = <Answer>(step: () => Promise<Answer>) => Promise<Answer>;

export interface FoldOptions {
  eventStore: Pick<EventStore, 'readAll'>;
  personalData: Pick<EventSealing, 'open'>;
  /** Default: each step begins when the one before has ended. */
  throttle?: Throttle;
}

export const atOnce: Throttle = (step) => step();

/** Folds events into a read model exactly as far as it is told. */
export class FoldUpTo {
  private readonly projector: BatchProjector;

  /** @param reached all events up to here are folded */
  constructor(
    private readonly model: ReadModel,
    store: Pick<ReadStore, 'getMany' | 'apply'>,
    private readonly options: FoldOptions,
    private reached: Position,
  ) {
    this.projector = new BatchProjector(model, store);
  }

  /** All events up to here are folded, and none after it. */
  get position(): Position {
    return this.reached;
  }

  /** @param report called with each position that is reached */
  async advanceTo(goal: Position, signal: AbortSignal, report: (reached: Position) => void): Promise<void> {
    const { throttle } = this.options;
    const limit = throttle ? EVENTS_PER_THROTTLED_READ : EVENTS_PER_READ;
    while (this.reached < goal) {
      signal.throwIfAborted();
      await (throttle ?? atOnce)(() => this.step(goal, limit));
      report(this.reached);
    }
  }

  /** Folds some of the events up to a position, at most `limit`. Returns those that were read. */
  async step(goal: Position, limit: number): Promise<readonly StoredEvent[]> {
    const { eventStore, personalData } = this.options;
    if (this.reached >= goal) return [];
    const batch = await eventStore.readAll(this.reached, { types: this.model.eventTypes }, limit);
    const events = batch.events.filter(({ position }) => position <= goal);
    const position = batch.caughtUp ? goal : Math.min(goal, batch.position);
    const newestPermanent = batch.position <= goal ? batch.newestPermanent : undefined;
    const opened = this.model.keepsSealed ? events : await personalData.open(events);
    await this.projector.project({ events: opened, position, newestPermanent });
    await this.projector.flush();
    this.reached = position;
    return events;
  }
}
