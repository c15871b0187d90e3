import type { Settings } from '../../shared/config/settings.ts';
import type { Measured } from '../../shared/host/health/measure.ts';

/** The parts of the program that run in threads of their own. */
export type WorkerName = 'projector' | 'relay';

/** The data with which a worker's thread is started. */
export interface ThreadData {
  worker: WorkerName;
  settings: Settings;
  masterKey: Uint8Array;
  edgeKey: Uint8Array;
}

export type Asked = 'health' | 'progress' | 'measured' | 'close';

/** A metric of a worker with its values. */
export interface MeasuredNow extends Omit<Measured, 'read'> {
  values: Awaited<ReturnType<Measured['read']>>;
}

export interface Question {
  id: number;
  asked: Asked;
}

/** Id of the unrequested answer that tells that the worker is running. */
export const STARTED = 0;

/** `id` is that of the question. */
export type Answer = { id: number; value: unknown } | { id: number; error: unknown };
