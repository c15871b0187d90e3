import { CannotStart } from './cannot-start.ts';
import { Refusal } from './refusal.ts';

/** What a program says when it cannot go on: a line for what a person can mend; a fault of ours is shown whole. */
export const reasonToEnd = (error: unknown): string => {
  if (error instanceof Refusal) return inOneLine(error.detail);
  if (!(error instanceof Error)) return inOneLine(String(error));
  // What the operating system refuses, it names.
  const canBeMended = error instanceof CannotStart || 'syscall' in error;
  return canBeMended ? inOneLine(error.message) : (error.stack ?? error.message);
};

const inOneLine = (text: string): string => text.trim().replaceAll(/\s*\n\s*/g, ' ');
