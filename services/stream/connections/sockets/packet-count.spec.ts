import { expect, it } from '@jest/globals';
import { PacketCount } from './packet-count.ts';

it('so many packets are allowed in each window, which begins with its first packet', () => {
  const count = new PacketCount(2, 10);
  const at = (...times: number[]) => times.map((seconds) => count.exceeds(seconds * 1_000));
  expect(at(1, 2, 3, 10.9)).toEqual([false, false, true, true]);
  expect(at(11, 12, 20.9)).toEqual([false, false, true]);
  expect(at(50, 59, 59.9)).toEqual([false, false, true]);
});
