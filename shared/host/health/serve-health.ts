import { checkpointMetrics } from './checkpoint-metrics.ts';
import { measure } from './measure.ts';
import { startMetricsServer } from './metrics-server.ts';
import type { ProcessHealth } from './process-health.ts';
import type { StartingProcess } from '../run-process.ts';
import type { RunningPart } from '../running-part.ts';

/**
 * Serves health and metrics of a process on `METRICS_PORT`. The process is ready when all its parts are.
 * @returns the URL; `undefined` if the port is off
 */
export const serveHealth = async (
  { settings: { METRICS_PORT, HOST }, shutdown }: StartingProcess,
  parts: Readonly<Record<string, RunningPart>>,
  processHealth: ProcessHealth,
): Promise<string | undefined> => {
  processHealth.report(parts);
  if (METRICS_PORT === 'off') return undefined;
  const { url, registry, close } = await startMetricsServer({ host: HOST, port: METRICS_PORT }, () =>
    processHealth.ready(),
  );
  shutdown.add('metrics', close);
  const running = Object.values(parts);
  const checkpoints = running.flatMap((part) => part.checkpoints ?? []);
  if (checkpoints.length > 0) measure(registry, checkpointMetrics(checkpoints));
  measure(
    registry,
    running.flatMap((part) => part.measured ?? []),
  );
  return url;
};
