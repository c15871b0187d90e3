import { CheckpointLoops, type CheckpointLoop } from '../loops/checkpoint-loops.ts';
import type { WithMessageBus, WorkerFoundation } from './foundation.ts';
import { Health } from './health.ts';
import type { RunningPart } from './running-part.ts';

/** Starts a part without a port. It is ready when each of its loops is caught up, or runs in another process. */
export const startLoops = (
  { eventStore, readStore, messageBus }: WorkerFoundation & Partial<WithMessageBus>,
  loops: readonly CheckpointLoop[],
): RunningPart => {
  const checkpoints = new CheckpointLoops(loops, eventStore, readStore);
  const health = new Health({ eventStore, readStore, ...(messageBus && { messageBus }) }, checkpoints.readiness);
  checkpoints.start();
  return { health: () => health.report(), checkpoints, close: () => checkpoints.stop() };
};
