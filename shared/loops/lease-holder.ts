import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { nodeErrorCode } from '../errors/node-error-code.ts';

/** Where process ids mean the same: one boot of one machine, one container of it. */
const processSpace = (): string => {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
};

const SPACE = processSpace();

/** In the place of a holder that has ended, for whoever follows to find out what it left under way. */
export const ENDED = 'ended';

/** Names one process for ever. */
export const nameHolder = (pid: number = process.pid): string => `${SPACE}/${String(pid)}/${randomUUID()}`;

/** Whether a holder has certainly ended, as far as can be told from this process; its own names of today are not asked. */
export const hasEnded = (holder: string): boolean => {
  if (holder === ENDED) return true;
  const [space, pid] = holder.split('/');
  if (space !== SPACE) return false;
  // Whoever had our process id before us is gone.
  if (Number(pid) === process.pid) return holder !== THIS_PROCESS;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return nodeErrorCode(error) === 'ESRCH';
  }
};

export const THIS_PROCESS = nameHolder();
