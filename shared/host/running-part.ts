import type { CheckpointLoops } from '../loops/checkpoint-loops.ts';
import type { HealthReport } from './health.ts';
import type { Measured } from './measure.ts';

/** A started part of a process: a service, or loops. */
export interface RunningPart {
  /** Its address, if it listens. */
  url?: string;
  /** Its part of the answer of `/health/ready`. */
  health: () => Promise<HealthReport>;
  /** The checkpoints that it advances, if any. */
  checkpoints?: Pick<CheckpointLoops, 'progress'>;
  /** What it tells at `/metrics` besides. */
  measured?: readonly Measured[];
  /** Returns when its loops and the requests in progress have ended. */
  close: () => Promise<void>;
}
