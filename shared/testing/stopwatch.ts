import { readFileSync } from 'node:fs';

/** What Linux knows of tasks that wait; each file's `some … total=` counts the microseconds in which any did. */
const PRESSURE_FILES = ['/proc/pressure/cpu', '/proc/pressure/io'];
/** However busy the machine is, some of the time passes, so that a wait of a minute ends, and says for what, before jest ends its test. */
const STANDS_STILL_AT_MOST = 0.7;

const stalledMs = (): number => {
  let totalUs = 0;
  for (const file of PRESSURE_FILES) {
    try {
      totalUs += Number(/^some .* total=(\d+)$/m.exec(readFileSync(file, 'utf8'))?.[1] ?? 0);
    } catch {
      // Only Linux has these files: elsewhere the machine counts as idle.
    }
  }
  return totalUs / 1_000;
};

/**
 * Starts a stopwatch that stands still while tasks of this machine wait for a processor or a disk: what is promised within
 * a time is promised of a machine that has that time. Returns the milliseconds since its start at each call.
 */
export const startStopwatch = (): (() => number) => {
  const [startedAt, stalledBefore] = [performance.now(), stalledMs()];
  return () => {
    const passedMs = performance.now() - startedAt;
    return passedMs - Math.min(stalledMs() - stalledBefore, passedMs * STANDS_STILL_AT_MOST);
  };
};
