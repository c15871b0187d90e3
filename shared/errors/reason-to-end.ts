import { CannotStart } from './cannot-start.ts';
import { Refusal } from './refusal.ts';

/** Returns what a program prints before it ends: one line for what a person can fix, the stack for a fault of ours. */
export const reasonToEnd = (error: unknown): string => {
  if (error instanceof Refusal) return inOneLine(error.detail);
  if (!(error instanceof Error)) return inOneLine(String(error));
  // Errors of the operating system state their reason.
  const canBeMended = error instanceof CannotStart || 'syscall' in error;
  return canBeMended ? inOneLine(error.message) : (error.stack ?? error.message);
};

const inOneLine = (text: string): string => text.trim().replaceAll(/\s*\n\s*/g, ' ');
