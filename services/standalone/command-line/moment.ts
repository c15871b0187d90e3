import { InvalidArgumentError } from 'commander';
import { isoTimeInput } from '../../../schemas/values.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { WrongArguments } from './wrong-arguments.ts';

/** A position of the event store, or a time in Unix milliseconds. */
export type Moment = { position: Position } | { time: number };

/** Reads a position or a time. @throws InvalidArgumentError, as the other readers do */
export const moment = (text: string): Moment => {
  if (/^\d{1,15}$/.test(text)) return { position: Number(text) };
  if (isoTimeInput.safeParse(text).success) return { time: Date.parse(text) };
  throw new InvalidArgumentError('It is neither a position nor an ISO 8601 time such as 2026-11-18T12:00:00Z.');
};

/** @throws WrongArguments for a moment that has not come yet */
export const requireHappened = (
  option: string,
  asked: Moment,
  { head, clock }: { head: Position; clock: Clock },
): void => {
  if ('time' in asked) {
    if (asked.time > clock.now()) throw new WrongArguments(`${option} is in the future`);
    return;
  }
  if (asked.position > head)
    throw new WrongArguments(
      `${option} is a position after the newest event, whose position is ${String(head)}; ` +
        'a time is written as ISO 8601 says, such as 2026-11-18T12:00:00Z',
    );
};
