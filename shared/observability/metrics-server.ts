import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { collectDefaultMetrics, Registry } from 'prom-client';

export interface MetricsServer {
  url: string;
  registry: Registry;
  close: () => Promise<void>;
}

/** Health and metrics of one process on a port of its own: `/health/live`, `/health/ready` and `/metrics`. */
export const startMetricsServer = async (
  { host, port }: { host: string; port: number },
  isReady: () => boolean,
): Promise<MetricsServer> => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string) =>
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
    switch (request.url) {
      case '/health/live':
        return answer(200, 'application/json', '{"status":"live"}');
      case '/health/ready':
        return isReady()
          ? answer(200, 'application/json', '{"status":"ready"}')
          : answer(503, 'application/json', '{"status":"not_ready"}');
      case '/metrics':
        return void registry.metrics().then(
          (text) => answer(200, registry.contentType, text),
          () => answer(500, 'text/plain', 'metrics failed'),
        );
      default:
        return answer(404, 'text/plain', 'not found');
    }
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
