import { measureCheckpoints } from './checkpoint-metrics.ts';
import { readyAnswer } from './health.ts';
import { startMetricsServer } from './metrics-server.ts';
import type { StartingProcess } from './run-process.ts';
import type { RunningPart } from './running-part.ts';

/**
 * Serves health and metrics of a process on `METRICS_PORT`. The process is ready when all its parts are; several parts
 * are reported by name.
 * @returns the address; `undefined` when it is off
 */
export const serveHealth = async (
  { settings: { METRICS_PORT, HOST }, shutdown }: StartingProcess,
  parts: Readonly<Record<string, RunningPart>>,
): Promise<string | undefined> => {
  if (METRICS_PORT === 'off') return undefined;
  const { url, registry, close } = await startMetricsServer({ host: HOST, port: METRICS_PORT }, () => readyOf(parts));
  shutdown.add('metrics', close);
  const checkpoints = Object.values(parts).flatMap((part) => part.checkpoints ?? []);
  if (checkpoints.length > 0) measureCheckpoints(registry, checkpoints);
  return url;
};

/** Returns the answer of `/health/ready` for a process with these parts. */
export const readyOf = async (parts: Readonly<Record<string, Pick<RunningPart, 'health'>>>) => {
  const answers = await Promise.all(
    Object.entries(parts).map(async ([name, { health }]) => [name, readyAnswer(await health())] as const),
  );
  const [first] = answers;
  if (first && answers.length === 1) return first[1];
  const isReady = answers.every(([, { status }]) => status === 200);
  const bodies = Object.fromEntries(answers.map(([name, { body }]) => [name, body]));
  return { status: isReady ? 200 : 503, body: { status: isReady ? 'ready' : 'not_ready', parts: bodies } };
};
