import { expect } from '@jest/globals';
import type { DomainEvent, Fold } from '../event-store/folded-streams.ts';
import { Refusal } from '../errors/refusal.ts';

/** An event and the time of its storage in Unix milliseconds. */
type Timed<Event> = readonly [event: Event, time: number];

/** Freezes a state with all that is in it: states are kept in memory, so neither a fold nor a decision may change them. */
export const frozen = <State>(state: State): State => {
  if (typeof state !== 'object' || state === null || Object.isFrozen(state)) return state;
  Object.values(state).forEach(frozen);
  return Object.freeze(state);
};

/** Given these events, when a decision is made, then it returns these events (or throws this refusal). */
export const given = <State, Event extends DomainEvent>(fold: Fold<State, Event>, history: readonly Timed<Event>[]) => {
  const state = history.reduce(
    (before, [event, time], index) => frozen(fold.evolve(before, event, time, `event-${String(index)}`)),
    frozen(fold.initial),
  );
  return {
    state,
    when: (decide: (state: State) => readonly Event[]) => ({
      then: (expected: readonly Event[]) => {
        expect(decide(state)).toEqual(expected);
      },
      refused: (code: Refusal['code'], why = /./) => {
        expect(refusalBy(() => decide(state))).toMatchObject({ code, detail: expect.stringMatching(why) });
      },
    }),
  };
};

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
