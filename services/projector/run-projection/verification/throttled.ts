import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { untilAborted } from '../../../../shared/primitives/waiting/until-aborted.ts';
import type { Throttle } from '../fold-up-to.ts';

/** The rest is for what a step leaves to others: the garbage collector, and threads of the store. */
const SHARE = 0.04;

interface Timing {
  /** A monotonic clock in milliseconds. */
  now: () => number;
  rest: (timeMs: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Rests after each step for 24 times as long as the step took, so that a thread is busy with steps for 4 % of the time at
 * most. A step that waits for an engine, or for other work of the thread, counts whole: where there is much to do,
 * the steps are rarer. Throws the signal's reason as soon as it aborts.
 */
export const throttled =
  (signal: AbortSignal, { now, rest }: Timing = { now: () => performance.now(), rest: pause }): Throttle =>
  async (step) => {
    const from = now();
    const answer = await untilAborted(step(), signal);
    await rest((now() - from) * (1 / SHARE - 1), signal);
    signal.throwIfAborted();
    return answer;
  };
