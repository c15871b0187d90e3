import { invalid } from '../errors/refusal.ts';
import { sha256 } from '../primitives/ids.ts';
import type { Position } from '../event-store/event-store.ts';

const CHECK_CHARACTERS = 8;
const check = (digits: string): string => sha256(`x-position ${digits}`).slice(0, CHECK_CHARACTERS);

/** A position as clients see it: opaque, and told apart from what is none. */
export const encodePosition = (position: Position): string => {
  const digits = position.toString(36);
  return `${digits}-${check(digits)}`;
};

/** @throws Refusal validation_failed for anything that `encodePosition` did not make */
export const decodePosition = (text: string): Position => {
  const position = parseInt(text.slice(0, -CHECK_CHARACTERS - 1), 36);
  if (!Number.isSafeInteger(position) || encodePosition(position) !== text) {
    throw invalid({ path: 'x-min-position', message: 'is no position that an answer carried' });
  }
  return position;
};
