import { basename } from 'node:path';
import { Refusal } from '../../../errors/refusal.ts';
import { LogThrottle } from '../../log-throttle.ts';

const MADE_ANEW = 'end every process, remove read.db* and bus.db*, and start again: both are rebuilt from the events';

/** What to do about each damaged file, by its name. */
const remedies: Record<string, string> = {
  'events.db':
    'end every process, and restore events.db from a copy of the data folder, or a backup into an empty one with annals backup restore: nothing else has the events',
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

/** Sets where lines about damaged files go. Each line is repeated only once in a while. */
export const reportDamage = (to: Report): void => {
  report = to;
};

/** Whether a file was found damaged in this thread. It stays so until the process ends. */
export const isDamaged = (file: string): boolean => damaged.has(file);

/** Reports a file whose content is not as it was written. @returns the refusal for requests that need the file */
export const damageIn = (file: string, what: string, cause?: unknown): Refusal => {
  damaged.add(file);
  const line = damageLine(file, what);
  if (reported.isDue(line)) report(line);
  const detail = 'stored data that this needs is damaged: the log of the service names the file';
  return new Refusal('dependency_unavailable', detail, { cause: new Error(line, { cause }) });
};
