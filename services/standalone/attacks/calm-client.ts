import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { eventually } from '../../../shared/testing/eventually.ts';

/** Runs as a worker: an attack in the same thread would delay what it measures. */

const ASK_EVERY_MS = 40;
const SERVED_WITHIN_MS = 60_000;

export interface CalmRequest {
  url: string;
  headers: Record<string, string>;
}

export interface CalmAnswers {
  /** How long each answer took, in milliseconds. */
  tookMs: number[];
  /** How many answers were 503, after which the request was sent again: on a busy machine, an answer may be late. */
  late: number;
  /** Answers other than 200 and 503. */
  refused: string[];
}

const answers: CalmAnswers = { tookMs: [], late: 0, refused: [] };
const stopping = new AbortController();
parentPort?.once('message', () => {
  stopping.abort();
});

/** Returns the answer, or what is wrong with it; nothing if it was late. */
const answerTo = async ({ url, headers }: CalmRequest): Promise<'served' | { refused: string } | undefined> => {
  const from = performance.now();
  try {
    const answer = await fetch(url, { headers });
    const text = await answer.text();
    answers.tookMs.push(performance.now() - from);
    if (answer.status === 200) return 'served';
    if (answer.status !== 503) return { refused: `${String(answer.status)} ${text}` };
    answers.late += 1;
    return undefined;
  } catch (error) {
    return { refused: String(error) };
  }
};

const ask = async (request: CalmRequest): Promise<void> => {
  try {
    const answer = await eventually(() => answerTo(request), SERVED_WITHIN_MS, 'an answer must not be late for ever');
    if (answer === 'served') parentPort?.postMessage(answer);
    else answers.refused.push(answer.refused);
  } catch (error) {
    answers.refused.push(String(error));
  }
};

const requests = workerData as CalmRequest[];
for (let asked = 0; !stopping.signal.aborted; asked += 1) {
  const next = requests[asked % requests.length];
  if (next) await ask(next);
  await pause(ASK_EVERY_MS);
}
parentPort?.postMessage(answers);
