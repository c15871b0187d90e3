import { describe, expect, it } from '@jest/globals';
import { ProgressMeter } from './progress-meter.ts';

const metering = () => {
  let nowMs = 1_000_000;
  const meter = new ProgressMeter({ now: () => nowMs });
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { meter, pass };
};

describe('the speed of a backfill', () => {
  it('is nothing where nothing was read', () => {
    expect(metering().meter.ratesOf('w')).toEqual({ eventsPerSecond: 0, blocksPerSecond: 0 });
  });

  it('is what was read since it began, of each watch apart', () => {
    const { meter, pass } = metering();
    meter.count('w', { events: 100, blocks: 10 });
    meter.count('other', { events: 1, blocks: 1 });
    pass(2_000);
    meter.count('w', { events: 300, blocks: 30 });
    expect(meter.ratesOf('w')).toEqual({ eventsPerSecond: 200, blocksPerSecond: 20 });
  });

  it('is that of the last seconds, when it has been reading for longer', () => {
    const { meter, pass } = metering();
    meter.count('w', { events: 90_000, blocks: 90_000 });
    pass(5_001);
    meter.count('w', { events: 500, blocks: 50 });
    pass(5_001);
    meter.count('w', { events: 500, blocks: 50 });
    expect(meter.ratesOf('w')).toEqual({ eventsPerSecond: 200, blocksPerSecond: 20 });
  });

  it('is nothing once it has not read for ten seconds', () => {
    const { meter, pass } = metering();
    meter.count('w', { events: 100, blocks: 10 });
    pass(9_999);
    expect(meter.ratesOf('w').eventsPerSecond).toBe(10);
    pass(1);
    expect(meter.ratesOf('w').eventsPerSecond).toBe(0);
  });
});

describe('what holds up a backfill', () => {
  it('is its last error, until it succeeds', () => {
    const { meter } = metering();
    expect(meter.errorOf('w')).toBeNull();
    meter.failed('w', 'history pruned');
    meter.failed('w', 'down');
    expect(meter.errorOf('w')).toBe('down');
    expect(meter.errorOf('other')).toBeNull();
    meter.succeeded('w');
    expect(meter.errorOf('w')).toBeNull();
  });
});
