import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { collectDefaultMetrics, Registry } from 'prom-client';

export interface MetricsServer {
  url: string;
  /** Further metrics. */
  registry: Registry;
  close: () => Promise<void>;
}

interface Answer {
  status: number;
  type: string;
  body: string;
}
/** How often the lag of the event loop is sampled. Each sample wakes the process, and 10 ms, the default, is 1 % of a core. */
const LAG_SAMPLED_MS = 100;

const json = ({ status, body }: { status: number; body: object }): Answer => ({
  status,
  type: 'application/json',
  body: JSON.stringify(body),
});
const text = (status: number, body: string): Answer => ({ status, type: 'text/plain', body });

/**
 * Serves health and metrics of one process on a separate port: `/health/live`, `/health/ready` and `/metrics`.
 * @param ready returns the answer of `/health/ready`, which is 503 if it fails
 */
export const startMetricsServer = async (
  { host, port }: { host: string; port: number },
  ready: () => Promise<{ status: number; body: object }>,
): Promise<MetricsServer> => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_SAMPLED_MS });
  const routes: Record<string, () => Promise<Answer>> = {
    '/health/live': () => Promise.resolve(json({ status: 200, body: { status: 'live' } })),
    '/health/ready': async () => json(await ready()),
    '/metrics': async () => ({ status: 200, type: registry.contentType, body: await registry.metrics() }),
  };
  const server = createServer((request, response) => {
    const answer = ({ status, type, body }: Answer) =>
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
    const route = routes[request.url?.split('?')[0] ?? ''];
    if (!route) answer(text(404, 'not found'));
    else if (request.method !== 'GET' && request.method !== 'HEAD') answer(text(405, 'GET only'));
    else route().then(answer, () => answer(text(503, 'unknown')));
  });
  server.listen(port, host);
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${String(bound)}`,
    registry,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
