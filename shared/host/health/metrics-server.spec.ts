import { describe, expect, it } from '@jest/globals';
import { startMetricsServer } from './metrics-server.ts';
import { ProcessHealth } from './process-health.ts';

const statusOf = async (url: string, init?: RequestInit) => {
  const answer = await fetch(url, init);
  return { status: answer.status, text: await answer.text() };
};

describe('the health and metrics of a process', () => {
  it('are live, tell its metrics, and whether it is ready', async () => {
    const health = new ProcessHealth();
    const server = await startMetricsServer({ host: '127.0.0.1', port: 0 }, () => health.ready());
    try {
      expect(await statusOf(`${server.url}/health/live`)).toEqual({ status: 200, text: '{"status":"live"}' });
      const text = '{"status":"not_ready","reasons":["it is starting"]}';
      expect(await statusOf(`${server.url}/health/ready`)).toEqual({ status: 503, text });
      health.report({});
      expect(await statusOf(`${server.url}/health/ready?verbose`)).toMatchObject({ status: 200 });
      expect((await statusOf(`${server.url}/metrics`)).text).toContain('process_cpu_seconds_total');
      expect((await statusOf(`${server.url}/other`)).status).toBe(404);
      expect((await statusOf(`${server.url}/metrics`, { method: 'POST' })).status).toBe(405);
    } finally {
      await server.close();
    }
  });

  it('are not ready while that is unknown', async () => {
    const server = await startMetricsServer({ host: '127.0.0.1', port: 0 }, () => Promise.reject(new Error('closed')));
    try {
      expect((await statusOf(`${server.url}/health/ready`)).status).toBe(503);
    } finally {
      await server.close();
    }
  });
});
