import { describe, expect, it } from '@jest/globals';
import { startMetricsServer } from './metrics-server.ts';

const statusOf = async (url: string, init?: RequestInit) => {
  const answer = await fetch(url, init);
  return { status: answer.status, text: await answer.text() };
};

describe('the health and metrics of a process', () => {
  it('are ready when everything in it is', async () => {
    let parts = [true, false];
    const server = await startMetricsServer({ host: '127.0.0.1', port: 0 }, () =>
      Promise.resolve(parts.every(Boolean)),
    );
    try {
      expect(await statusOf(`${server.url}/health/live`)).toEqual({ status: 200, text: '{"status":"live"}' });
      expect(await statusOf(`${server.url}/health/ready`)).toEqual({ status: 503, text: '{"status":"not_ready"}' });
      parts = [true, true];
      expect(await statusOf(`${server.url}/health/ready?verbose`)).toEqual({ status: 200, text: '{"status":"ready"}' });
      expect((await statusOf(`${server.url}/metrics`)).text).toContain('process_cpu_seconds_total');
      expect((await statusOf(`${server.url}/other`)).status).toBe(404);
      expect((await statusOf(`${server.url}/metrics`, { method: 'POST' })).status).toBe(405);
    } finally {
      await server.close();
    }
  });

  it('are not ready while that cannot be told', async () => {
    const server = await startMetricsServer({ host: '127.0.0.1', port: 0 }, () => Promise.reject(new Error('closed')));
    try {
      expect((await statusOf(`${server.url}/health/ready`)).status).toBe(503);
    } finally {
      await server.close();
    }
  });
});
