import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { startStopwatch } from '../../../shared/testing/stopwatch.ts';

/** Runs as a worker: an attack in the same thread would delay what it measures. */

const ASK_EVERY_MS = 40;

export interface CalmRequest {
  url: string;
  headers: Record<string, string>;
}

export interface CalmAnswers {
  /** How long each answer took, in milliseconds. */
  tookMs: number[];
  /** The same by a stopwatch that stands still while the machine is busy. */
  passedMs: number[];
  /** Answers other than 200. */
  refused: string[];
}

const { tookMs, passedMs, refused }: CalmAnswers = { tookMs: [], passedMs: [], refused: [] };
const stopping = new AbortController();
parentPort?.once('message', () => {
  stopping.abort();
});

const ask = async ({ url, headers }: CalmRequest): Promise<void> => {
  const [from, passed] = [performance.now(), startStopwatch()];
  try {
    const answer = await fetch(url, { headers });
    const text = await answer.text();
    if (answer.status !== 200) refused.push(`${String(answer.status)} ${text}`);
  } catch (error) {
    refused.push(String(error));
  }
  tookMs.push(performance.now() - from);
  passedMs.push(passed());
};

const requests = workerData as CalmRequest[];
for (let asked = 0; !stopping.signal.aborted; asked += 1) {
  const next = requests[asked % requests.length];
  if (next) await ask(next);
  await pause(ASK_EVERY_MS);
}
parentPort?.postMessage({ tookMs, passedMs, refused });
