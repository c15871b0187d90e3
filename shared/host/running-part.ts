import type { CheckpointLoops } from '../loops/checkpoint-loops.ts';
import type { HealthReport } from './health.ts';

/** What was started in a process: a service, or loops. */
export interface RunningPart {
  /** Where it listens, if it does. */
  url?: string;
  /** What `/health/ready` says of it. */
  health: () => Promise<HealthReport>;
  /** Those that it keeps up, if any. */
  checkpoints?: CheckpointLoops;
  /** Returns when its loops have ended and what was in flight is finished. */
  close: () => Promise<void>;
}
