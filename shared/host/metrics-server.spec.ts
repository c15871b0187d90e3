import { describe, expect, it } from '@jest/globals';
import { startMetricsServer } from './metrics-server.ts';
import { readyOf } from './serve-health.ts';

const statusOf = async (url: string, init?: RequestInit) => {
  const answer = await fetch(url, init);
  return { status: answer.status, text: await answer.text() };
};

describe('the health and metrics of a process', () => {
  it('are ready when its only part is, and report what is missing', async () => {
    const up = { eventStore: 'up', readStore: 'up' } as const;
    let isReady = false;
    const health = () => Promise.resolve({ isReady, dependencies: up, conditions: { caughtUp: isReady } });
    const server = await startMetricsServer({ host: '127.0.0.1', port: 0 }, () => readyOf({ relay: { health } }));
    const ready = async (query = '') => {
      const { status, text } = await statusOf(`${server.url}/health/ready${query}`);
      return { status, body: JSON.parse(text) as unknown };
    };
    try {
      expect(await statusOf(`${server.url}/health/live`)).toEqual({ status: 200, text: '{"status":"live"}' });
      const notReady = { status: 'not_ready', dependencies: up, caughtUp: false };
      expect(await ready()).toEqual({ status: 503, body: notReady });
      isReady = true;
      expect(await ready('?verbose')).toEqual({ status: 200, body: { ...notReady, status: 'ready', caughtUp: true } });
      expect((await statusOf(`${server.url}/metrics`)).text).toContain('process_cpu_seconds_total');
      expect((await statusOf(`${server.url}/other`)).status).toBe(404);
      expect((await statusOf(`${server.url}/metrics`, { method: 'POST' })).status).toBe(405);
    } finally {
      await server.close();
    }
  });

  it('are ready when all its parts are, each under its name', async () => {
    const dependencies = { eventStore: 'up', readStore: 'up' } as const;
    const part = (isReady: boolean) => ({
      health: () => Promise.resolve({ isReady, dependencies, conditions: { working: isReady } }),
    });
    expect(await readyOf({ relay: part(true), projector: part(false) })).toEqual({
      status: 503,
      body: {
        status: 'not_ready',
        parts: {
          relay: { status: 'ready', dependencies, working: true },
          projector: { status: 'not_ready', dependencies, working: false },
        },
      },
    });
    expect(await readyOf({ relay: part(true), projector: part(true) })).toMatchObject({
      status: 200,
      body: { status: 'ready' },
    });
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
