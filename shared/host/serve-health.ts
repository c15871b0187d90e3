import type { Followers } from '../loops/checkpoint-loops.ts';
import type { HealthReport } from './health.ts';
import { measureFollowers } from './checkpoint-metrics.ts';
import { startMetricsServer } from './metrics-server.ts';
import type { StartingProcess } from './run-process.ts';

/** A service or a worker that was started. */
export interface RunningPart {
  health: () => Promise<HealthReport>;
  followers?: Followers;
}

/**
 * Serves health and metrics of a process on `METRICS_PORT`. It is ready when all its parts are.
 * @returns where; `undefined`: it is off
 */
export const serveHealth = async (
  { settings: { METRICS_PORT, HOST }, shutdown }: StartingProcess,
  parts: readonly RunningPart[],
): Promise<string | undefined> => {
  if (METRICS_PORT === 'off') return undefined;
  const isReady = async () => (await Promise.all(parts.map(({ health }) => health()))).every((one) => one.isReady);
  const { url, registry, close } = await startMetricsServer({ host: HOST, port: METRICS_PORT }, isReady);
  shutdown.add('metrics', close);
  const followers = parts.flatMap((part) => part.followers ?? []);
  if (followers.length > 0) measureFollowers(registry, followers);
  return url;
};
