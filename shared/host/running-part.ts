import type { CheckpointLoops } from '../loops/checkpoint-loops.ts';
import type { HealthReport } from './health/health.ts';
import type { Measured } from './health/measure.ts';

/** A started part of a process: a service, or loops. */
export interface RunningPart {
  /** Its URL, if it listens. */
  url?: string;
  /** Its share of the answer of `/health/ready`. */
  health: () => Promise<HealthReport>;
  /** The checkpoints that it advances, if any. */
  checkpoints?: Pick<CheckpointLoops, 'progress'>;
  /** Further metrics for `/metrics`. */
  measured?: readonly Measured[];
  /** Returns when its loops and the requests in progress have ended. */
  close: () => Promise<void>;
}
