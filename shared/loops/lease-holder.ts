import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { getEnvironmentData } from 'node:worker_threads';
import { nodeErrorCode } from '../errors/node-error-code.ts';

/** Identifies the space in which process ids are unique: one boot of one machine, or one container on it. */
const processSpace = (): string => {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
};

const SPACE = processSpace();

/**
 * Stored as the holder if the last one ended with requests in flight, so that the next one fences them. `null` is
 * stored if it ended without any.
 */
export const ENDED = 'ended';

/**
 * Stored as the holder if the last one passed the lease on to another process that shares it, with nothing in flight.
 */
export const GIVEN = 'given';

/** Names one process uniquely, also across restarts. */
export const nameHolder = (pid: number = process.pid): string => `${SPACE}/${String(pid)}/${randomUUID()}`;

/** Whether a holder has certainly ended, as far as this process can know. False for its own current name. */
export const hasEnded = (holder: string): boolean => {
  if (holder === ENDED) return true;
  const [space, pid] = holder.split('/');
  if (space !== SPACE) return false;
  // An earlier process with our process id has ended.
  if (Number(pid) === process.pid) return holder !== THIS_PROCESS;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return nodeErrorCode(error) === 'ESRCH';
  }
};

/** Key under which threads receive the name of their process. */
export const PROCESS_NAME = 'annals process';

/** The same in every thread that received it. */
export const THIS_PROCESS = (getEnvironmentData(PROCESS_NAME) as string | undefined) ?? nameHolder();
