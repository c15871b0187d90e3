import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { DomainEvent, Fold } from '../../../shared/event-store/transactions/folded-streams.ts';
import type { Transacted, Transactor } from '../../../shared/event-store/transactions/transact.ts';

/** In one append. EventStoreDB takes up to 1 MiB. */
const DECISIONS_MAX = 500;

/** @param before the state of the stream before the decisions that share the append */
type Decide<State, Event> = (state: State, before: State) => readonly Event[];

interface Waiting<State, Event> {
  decide: Decide<State, Event>;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Decides on streams to which many requests append. Decisions that arrive while an append to their stream is under way are
 * made together, in order, and stored by one append. Each caller gets its own answer or refusal.
 */
export class GatheredDecisions<State, Event extends DomainEvent> {
  /** By stream, while an append is under way. */
  private readonly waiting = new Map<string, Waiting<State, Event>[]>();

  constructor(
    private readonly transactor: Transactor,
    /** Must not use ids of events: events of the same append have none yet. */
    private readonly fold: Fold<State, Event>,
    private readonly metadata: () => EventMetadata,
    /** Called after each append, before anything else is decided on its stream. */
    private readonly onStored: (transacted: Transacted<State>) => void,
  ) {}

  /** Resolves once the decision is stored. @throws the errors of `decide` and of Transactor.transact */
  decide(stream: string, decide: Decide<State, Event>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const mine = { decide, resolve: () => resolve(undefined), reject };
    const line = this.waiting.get(stream);
    if (line) line.push(mine);
    else {
      const begun = [mine];
      this.waiting.set(stream, begun);
      void this.work(stream, begun);
    }
    return promise;
  }

  private async work(stream: string, line: Waiting<State, Event>[]): Promise<void> {
    while (line.length > 0) await this.decideTogether(stream, line.splice(0, DECISIONS_MAX));
    this.waiting.delete(stream);
  }

  private async decideTogether(stream: string, gathered: readonly Waiting<State, Event>[]): Promise<void> {
    const { fold } = this;
    const refusals = new Map<Waiting<State, Event>, unknown>();
    const decide = (before: State, nowMs: number): Event[] => {
      refusals.clear();
      let state = before;
      return gathered.flatMap((one) => {
        try {
          const events = one.decide(state, before);
          state = events.reduce((known, event) => fold.evolve(known, event, nowMs, ''), state);
          return events;
        } catch (error) {
          refusals.set(one, error);
          return [];
        }
      });
    };
    try {
      this.onStored(await this.transactor.transact({ stream, fold, metadata: this.metadata(), decide }));
    } catch (error) {
      for (const { reject } of gathered) reject(error);
      return;
    }
    for (const one of gathered) {
      if (refusals.has(one)) one.reject(refusals.get(one));
      else one.resolve();
    }
  }
}
