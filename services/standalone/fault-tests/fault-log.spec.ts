import { expect, it } from '@jest/globals';
import { FaultLog } from './fault-log.ts';

it('a fault log has all faults since it was cleared, in order and with their times', () => {
  let now = 5_000;
  const faults = new FaultLog(() => now);
  expect(faults.text).toBe('after no fault');
  now = 6_250;
  faults.add('relay killed');
  now = 9_000;
  faults.add('relay started again');
  expect(faults.text).toBe('after 1.3 s: relay killed; 4.0 s: relay started again');
  faults.clear();
  now = 9_500;
  faults.add('all killed');
  expect(faults.text).toBe('after 0.5 s: all killed');
});
