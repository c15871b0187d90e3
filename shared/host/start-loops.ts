import { CheckpointLoops, type CheckpointLoop } from '../loops/checkpoint-loops.ts';
import type { SupervisedLoop } from '../loops/supervised-loop.ts';
import type { WithMessageBus, WorkerFoundation } from './foundation.ts';
import { Health } from './health/health.ts';
import type { RunningPart } from './running-part.ts';

/**
 * Starts a part without a port. It is ready when each of its loops is caught up, or runs in another process.
 * @param others loops that follow nothing
 */
export const startLoops = (
  { settings, eventStore, readStore, messageBus }: WorkerFoundation & Partial<WithMessageBus>,
  loops: readonly CheckpointLoop[],
  others: readonly SupervisedLoop[] = [],
): RunningPart => {
  const checkpoints = new CheckpointLoops(loops, eventStore, readStore, { others });
  const health = new Health(
    { settings, eventStore, readStore, ...(messageBus && { messageBus }) },
    checkpoints.readiness,
  );
  checkpoints.start();
  return { health: () => health.report(), checkpoints, close: () => checkpoints.stop() };
};
