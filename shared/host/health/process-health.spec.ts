import { describe, expect, it } from '@jest/globals';
import { inSimulatedTime } from '../../testing/simulation/simulated-globals.ts';
import type { HealthReport } from './health.ts';
import { ProcessHealth } from './process-health.ts';

const up = { eventStore: 'up', readStore: 'up' } as const;

/** A part whose health can be changed, and that counts how many times it is asked. */
const somePart = () => {
  const part = {
    asked: 0,
    report: { isReady: true, dependencies: up, conditions: { caughtUp: true } } as HealthReport,
    health: () => {
      part.asked += 1;
      return Promise.resolve(part.report);
    },
  };
  return part;
};

describe('the health of a process', () => {
  it('is not ready before its parts are known', async () => {
    const health = new ProcessHealth();
    expect(await health.ready()).toEqual({ status: 503, body: { status: 'not_ready', reasons: ['it is starting'] } });
    health.report({ relay: somePart() });
    expect(await health.ready()).toEqual({
      status: 200,
      body: { status: 'ready', dependencies: up, caughtUp: true },
    });
  });

  it('is ready when all its parts are, and names every reason when it is not', async () => {
    const [relay, projector] = [somePart(), somePart()];
    projector.report = {
      isReady: false,
      dependencies: { eventStore: 'up', readStore: 'down' },
      conditions: { working: true, caughtUp: false },
    };
    const health = new ProcessHealth();
    health.report({ relay, projector });
    expect(await health.ready()).toEqual({
      status: 503,
      body: {
        status: 'not_ready',
        reasons: ['projector: readStore is down', 'projector: not caughtUp'],
        parts: {
          relay: { dependencies: up, caughtUp: true },
          projector: { dependencies: { eventStore: 'up', readStore: 'down' }, working: true, caughtUp: false },
        },
      },
    });
  });

  it('is asked for once in a second, however many ask', () =>
    inSimulatedTime(async (time) => {
      const part = somePart();
      const health = new ProcessHealth();
      health.report({ relay: part });
      await Promise.all(Array.from({ length: 100 }, () => health.ready()));
      part.report = { ...part.report, isReady: false, conditions: { caughtUp: false } };
      await time.pause(999);
      expect((await health.ready()).status).toBe(200);
      expect(part.asked).toBe(1);
      await time.pause(1);
      expect((await health.ready()).status).toBe(503);
      expect(part.asked).toBe(2);
    }));

  it('is not ready while that is unknown', async () => {
    const health = new ProcessHealth();
    health.report({ relay: { health: () => Promise.reject(new Error('closed')) } });
    expect(await health.ready()).toMatchObject({ status: 503, body: { reasons: ['it is not known'] } });
  });
});
