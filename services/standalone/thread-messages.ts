import type { Settings } from '../../shared/config/settings.ts';

/** What the thread of a projector is started with. */
export interface ProjectorWorkerData {
  settings: Settings;
  masterKey: Uint8Array;
}

export type Asked = 'health' | 'progress' | 'close';

export interface Question {
  id: number;
  asked: Asked;
}

/** The id of the answer that the projector runs, which nobody has asked for. */
export const STARTED = 0;

/** `id` is that of the question. */
export type Answer = { id: number; value: unknown } | { id: number; error: unknown };
