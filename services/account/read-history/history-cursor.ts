import { Refusal } from '../../../shared/errors/refusal.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';

const check = (userId: string, digits: string): string => sha256(`history ${userId} ${digits}`).slice(0, 8);

/** Where a page ended, as clients see it: opaque, and good for this user's history only. */
export const encodeCursor = (userId: string, sequence: number): string => {
  const digits = sequence.toString(36);
  return `${digits}-${check(userId, digits)}`;
};

/** @throws Refusal cursor_invalid */
export const decodeCursor = (userId: string, cursor: string): number => {
  const sequence = parseInt(cursor.split('-')[0] ?? '', 36);
  if (Number.isSafeInteger(sequence) && encodeCursor(userId, sequence) === cursor) return sequence;
  throw new Refusal('cursor_invalid', "the cursor is not from this user's history");
};
