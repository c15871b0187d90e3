import { mkdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const BEAT_MS = 1_000;
/** After this long without a beat the holder is taken for dead. A process id would not tell: containers use them again. */
const DEAD_AFTER_MS = 5 * BEAT_MS;

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
const dropIfDead = (lock) => {
  const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
  if (since === undefined || Date.now() - since < DEAD_AFTER_MS) return;
  const grave = `${lock}.${String(process.pid)}`;
  renameSync(lock, grave);
  rmSync(grave, { recursive: true });
};

/**
 * Does `work` while no other process of this machine does work under the same lock, a folder.
 * @template Result
 * @param {{ lock: string, onWait: () => void }} options `onWait` is called once, when somebody else holds the lock
 * @param {() => Promise<Result>} work
 */
export const exclusively = async ({ lock, onWait }, work) => {
  for (let waits = 0; !take(lock); waits += 1) {
    if (waits === 0) onWait();
    dropIfDead(lock);
    await pause(100);
  }
  const beat = setInterval(() => {
    utimesSync(lock, new Date(), new Date());
  }, BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    rmSync(lock, { recursive: true });
  }
};
