import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { LogThrottle } from './log-throttle.ts';

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
});
afterEach(() => {
  jest.useRealTimers();
});

it('a message is due at once, and again 30 s after it was reported', () => {
  const throttle = new LogThrottle();
  const isDue = () => throttle.isDue('Kafka is away');
  expect([isDue(), isDue(), throttle.isDue('MongoDB is away')]).toEqual([true, false, true]);
  jest.advanceTimersByTime(29_999);
  expect(isDue()).toBe(false);
  jest.advanceTimersByTime(1);
  expect([isDue(), isDue()]).toEqual([true, false]);
});

it('at most a hundred messages are remembered; then all are forgotten', () => {
  const throttle = new LogThrottle();
  for (let message = 1; message <= 100; message += 1) throttle.isDue(String(message));
  expect(throttle.isDue('1')).toBe(false);
  expect([throttle.isDue('101'), throttle.isDue('1')]).toEqual([true, true]);
});
