import { describe, expect, it } from '@jest/globals';
import { ProgressMeter } from './progress-meter.ts';

const aMeter = () => {
  let elapsedMs = 1_000_000;
  const meter = new ProgressMeter({ elapsed: () => elapsedMs });
  const pass = (ms: number) => {
    elapsedMs += ms;
  };
  return { meter, pass };
};

describe('the speed of a backfill', () => {
  it('is zero if nothing was read', () => {
    expect(aMeter().meter.ratesOf('w')).toEqual({ eventsPerSecond: 0, blocksPerSecond: 0 });
  });

  it('is measured from its beginning, for each watch separately', () => {
    const { meter, pass } = aMeter();
    meter.count('w', { events: 100, blocks: 10 });
    meter.count('other', { events: 1, blocks: 1 });
    pass(2_000);
    meter.count('w', { events: 300, blocks: 30 });
    expect(meter.ratesOf('w')).toEqual({ eventsPerSecond: 200, blocksPerSecond: 20 });
  });

  it('is measured over the last seconds if it has been reading for longer', () => {
    const { meter, pass } = aMeter();
    meter.count('w', { events: 90_000, blocks: 90_000 });
    pass(5_001);
    meter.count('w', { events: 500, blocks: 50 });
    pass(5_001);
    meter.count('w', { events: 500, blocks: 50 });
    expect(meter.ratesOf('w')).toEqual({ eventsPerSecond: 200, blocksPerSecond: 20 });
  });

  it('is zero after ten seconds without reading', () => {
    const { meter, pass } = aMeter();
    meter.count('w', { events: 100, blocks: 10 });
    pass(9_999);
    expect(meter.ratesOf('w').eventsPerSecond).toBe(10);
    pass(1);
    expect(meter.ratesOf('w').eventsPerSecond).toBe(0);
  });
});

describe('the error of a backfill', () => {
  it('is its last failure, until it succeeds', () => {
    const { meter } = aMeter();
    expect(meter.errorOf('w')).toBeNull();
    meter.failed('w', 'history pruned');
    meter.failed('w', 'down');
    expect(meter.errorOf('w')).toBe('down');
    expect(meter.errorOf('other')).toBeNull();
    meter.succeeded('w');
    expect(meter.errorOf('w')).toBeNull();
  });
});

describe('what should be known of a watch', () => {
  it('is what it was warned of, until something of it is read, else what is known of its chain', () => {
    const { meter } = aMeter();
    meter.chainWarning = 'still';
    meter.warn('w', 'extended too far');
    expect([meter.warningOf('w'), meter.warningOf('other')]).toEqual(['extended too far', 'still']);
    expect(meter.statuses()).toMatchObject([{ watchIds: ['w'], error: null, warning: 'extended too far' }]);
    meter.succeeded('w');
    expect([meter.warningOf('w'), meter.statuses()]).toEqual(['still', []]);
  });

  it('is why its verification stands still, however much of it is read', () => {
    const { meter } = aMeter();
    meter.chainWarning = 'still';
    meter.unverified.set('w', 'no receipts');
    meter.succeeded('w');
    expect(meter.warningOf('w')).toBe('no receipts');
    expect(meter.statuses()).toMatchObject([{ watchIds: ['w'], error: null, warning: 'no receipts' }]);
  });
});

describe('the backfills of a chain', () => {
  it('are those that read or failed lately, with equal ones together', () => {
    const { meter, pass } = aMeter();
    for (const id of ['a', 'b', 'c']) meter.count(id, { events: 20, blocks: id === 'c' ? 40 : 10 });
    meter.failed('d', 'down');
    pass(2_000);
    const delayed = { watchIds: ['d'], eventsPerSecond: 0, blocksPerSecond: 0, error: 'down', warning: null };
    expect(meter.statuses()).toEqual([
      { watchIds: ['a', 'b'], eventsPerSecond: 10, blocksPerSecond: 5, error: null, warning: null },
      { watchIds: ['c'], eventsPerSecond: 10, blocksPerSecond: 20, error: null, warning: null },
      delayed,
    ]);
    pass(8_000);
    expect(meter.statuses()).toEqual([delayed]);
  });
});
