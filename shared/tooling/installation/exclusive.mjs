import { mkdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const HEARTBEAT_MS = 1_000;
/** Without a heartbeat for this long, the lock has expired. A process id would not do, because containers reuse them. */
const EXPIRES_AFTER_MS = 5 * HEARTBEAT_MS;

/** @param {string} lock */
const take = (lock) => {
  try {
    mkdirSync(lock);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    return false;
  }
};

/** @param {string} lock */
const removeIfExpired = (lock) => {
  const beatAt = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
  if (beatAt === undefined || Date.now() - beatAt < EXPIRES_AFTER_MS) return;
  const expired = `${lock}.${String(process.pid)}`;
  renameSync(lock, expired);
  rmSync(expired, { recursive: true });
};

/**
 * Does `work` while holding a lock, which is a folder that only one process of this machine can have created.
 * @template Result
 * @param {{ lock: string, onWait: () => void }} options `onWait` is called once if another process holds the lock
 * @param {() => Promise<Result>} work
 */
export const exclusively = async ({ lock, onWait }, work) => {
  for (let waits = 0; !take(lock); waits += 1) {
    if (waits === 0) onWait();
    removeIfExpired(lock);
    await pause(100);
  }
  const heartbeat = setInterval(() => {
    utimesSync(lock, new Date(), new Date());
  }, HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    rmSync(lock, { recursive: true });
  }
};
