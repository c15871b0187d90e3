import type { Settings } from '../../shared/config/settings.ts';

/** The parts of the program that have a thread each. */
export type WorkerName = 'projector' | 'relay';

/** What the thread of a worker is started with. */
export interface ThreadData {
  worker: WorkerName;
  settings: Settings;
  masterKey: Uint8Array;
  edgeKey: Uint8Array;
}

export type Asked = 'health' | 'progress' | 'close';

export interface Question {
  id: number;
  asked: Asked;
}

/** The id of the answer that the worker runs, which nobody has asked for. */
export const STARTED = 0;

/** `id` is that of the question. */
export type Answer = { id: number; value: unknown } | { id: number; error: unknown };
