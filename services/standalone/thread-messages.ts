import type { Settings } from '../../shared/config/settings.ts';

/** What the thread of the workers is started with. */
export interface WorkersData {
  settings: Settings;
  masterKey: Uint8Array;
}

/** The parts that run in the thread. */
export type WorkerName = 'projector' | 'relay';

export type Asked = { of: WorkerName; what: 'health' | 'progress' } | 'close';

export interface Question {
  id: number;
  asked: Asked;
}

/** The id of the answer that the workers run, which nobody has asked for. */
export const STARTED = 0;

/** `id` is that of the question. */
export type Answer = { id: number; value: unknown } | { id: number; error: unknown };
