import { expect } from '@jest/globals';
import type { DomainEvent, Fold } from '../event-store/transactions/folded-streams.ts';
import { Refusal } from '../errors/refusal.ts';

/** An event and the time of its storage in Unix milliseconds. */
type Timed<Event> = readonly [event: Event, time: number];

/** Freezes a state deeply: states are cached, so neither a fold nor a decision may change them. */
export const frozen = <State>(state: State): State => {
  if (typeof state !== 'object' || state === null || Object.isFrozen(state)) return state;
  Object.values(state).forEach(frozen);
  return Object.freeze(state);
};

/** Given these events, a decision returns the expected events (`decides`) or throws a refusal with this code (`refuses`). */
export const given = <State, Event extends DomainEvent>(fold: Fold<State, Event>, history: readonly Timed<Event>[]) => {
  const state = history.reduce(
    (before, [event, time], index) => frozen(fold.evolve(before, event, time, `event-${String(index)}`)),
    frozen(fold.initial),
  );
  return {
    state,
    decides: (decide: (state: State) => readonly Event[], expected: readonly Event[]) => {
      expect(decide(state)).toEqual(expected);
    },
    refuses: (decide: (state: State) => readonly Event[], code: Refusal['code'], why = /./) => {
      expect(refusalBy(() => decide(state))).toMatchObject({ code, detail: expect.stringMatching(why) });
    },
  };
};

/** `given` events that were all stored at one time. */
export const givenAt =
  <State, Event extends DomainEvent>(fold: Fold<State, Event>, time: number) =>
  (...events: readonly Event[]) =>
    given(
      fold,
      events.map((event) => [event, time]),
    );

/** Returns the refusal that a call throws. @throws when it does not throw one */
export const refusalBy = (call: () => unknown): Refusal => {
  try {
    call();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('nothing was refused');
};

/** The rule for every command: a repeated command produces no events. */
export const expectNothingTheSecondTime = <State, Event extends DomainEvent>(
  fold: Fold<State, Event>,
  state: State,
  decide: (state: State) => readonly Event[],
  time: number,
): void => {
  const after = decide(state).reduce((before, event) => frozen(fold.evolve(before, event, time, 'event')), state);
  expect(decide(after)).toEqual([]);
};
