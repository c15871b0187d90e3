import { parentPort } from 'node:worker_threads';
import type { CallAnswer } from './worker-calls.ts';

/** Answers the calls of `WorkerCalls`, one after the other. Runs in the worker. */
export const answerCalls = (answerOf: (work: never) => unknown): void => {
  parentPort?.on('message', (work) => {
    parentPort?.postMessage(answerTo(() => answerOf(work as never)));
  });
};

const answerTo = (answerOf: () => unknown): CallAnswer<unknown> => {
  try {
    return { answer: answerOf() };
  } catch (error) {
    const { message, errcode } = error as Error & { errcode?: number };
    return { failed: { message, errcode } };
  }
};
