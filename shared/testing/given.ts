import { expect } from '@jest/globals';
import type { DomainEvent, Fold } from '../event-store/transact.ts';
import { Refusal } from '../errors/refusal.ts';

/** An event and when it was stored: Unix milliseconds. */
type Past<Event> = readonly [event: Event, time: number];

/** Given what happened, when something is decided, then these events (or this refusal). */
export const given = <State, Event extends DomainEvent>(fold: Fold<State, Event>, past: readonly Past<Event>[]) => {
  const state = past.reduce(
    (before, [event, time], index) => fold.evolve(before, event, time, `event-${String(index)}`),
    fold.initial,
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

/** The refusal that a call ends in. @throws when it does not */
export const refusalBy = (call: () => unknown): Refusal => {
  try {
    call();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('nothing was refused');
};

/** The rule for every command: what has been carried out is not carried out again. */
export const expectNothingTheSecondTime = <State, Event extends DomainEvent>(
  fold: Fold<State, Event>,
  state: State,
  decide: (state: State) => readonly Event[],
  time: number,
): void => {
  const after = decide(state).reduce((before, event) => fold.evolve(before, event, time, 'event'), state);
  expect(decide(after)).toEqual([]);
};
