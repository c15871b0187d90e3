import { basename } from 'node:path';
import { Refusal } from '../../errors/refusal.ts';
import { LogThrottle } from '../log-throttle.ts';

const MADE_ANEW = 'end every process, remove read.db* and bus.db*, and start again: both are made anew of the events';

/** What to do, by the name of the file. */
const remedies: Record<string, string> = {
  'events.db': 'end every process, and restore events.db from a copy of the data folder: nothing else has the events',
  'vault.db': 'end every process, remove vault.db*, and restore the keys with annals vault restore',
  'read.db': MADE_ANEW,
  'bus.db': MADE_ANEW,
};

/** Says in one line which file is damaged, and what to do. */
export const damageLine = (file: string, what: string): string =>
  `${file} is damaged (${what}): ${remedies[basename(file)] ?? 'restore it from a copy'}`;

type Report = (line: string) => void;

const damaged = new Set<string>();
const reported = new LogThrottle();
let report: Report = () => undefined;

/** From now on each line of a damaged file goes there: once in a while, however often it is met. */
export const reportDamage = (to: Report): void => {
  report = to;
};

/** Whether a file of this name was found damaged in this thread: it stays so until the process ends. */
export const isDamaged = (name: string): boolean => damaged.has(name);

/** Reports that a file is not as it was written. @returns what requests that need it are answered */
export const damageIn = (file: string, what: string, cause?: unknown): Refusal => {
  damaged.add(basename(file));
  const line = damageLine(file, what);
  if (reported.isDue(line)) report(line);
  const detail = 'what is stored of this is damaged: the log of the service says in which file';
  return new Refusal('dependency_unavailable', detail, { cause: new Error(line, { cause }) });
};
