import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { publishRequests, type Routed } from './publish-requests.ts';

const routed = (partition: number, bytes: number, index: number): Routed => ({
  partition,
  index,
  bytes,
  message: { key: '', headers: {}, value: 'x'.repeat(bytes), timestamp: 0 },
});

describe('produce requests', () => {
  it('contain every message once and in order, with at most 500 or 900 kB for a partition, or one larger message', () => {
    const messages = fc.array(fc.tuple(fc.nat(3), fc.constantFrom(1, 1, 1, 300_000, 950_000)), { maxLength: 60 });
    fc.assert(
      fc.property(messages, fc.nat(700), (some, more) => {
        const many = Array.from({ length: more }, (): [number, number] => [0, 1]);
        const all = [...some, ...many].map(([partition, bytes], index) => routed(partition, bytes, index));
        const requests = Array.from(publishRequests(all));
        expect(requests.flat()).toEqual(all);
        for (const request of requests) {
          expect(request.length).toBeGreaterThan(0);
          for (const ofPartition of Map.groupBy(request, ({ partition }) => partition).values()) {
            const bytes = ofPartition.reduce((sum, { message }) => sum + (message.value?.length ?? 0), 0);
            expect(ofPartition.length).toBeLessThanOrEqual(500);
            expect(ofPartition.length === 1 || bytes <= 900_000).toBe(true);
          }
        }
      }),
    );
  });

  it('are as few as that allows', () => {
    const all = Array.from({ length: 1_000 }, (_, index) => routed(index % 2, 1, index));
    expect(Array.from(publishRequests(all))).toHaveLength(1);
    const hot = Array.from({ length: 1_000 }, (_, index) => routed(0, 1, index));
    expect(Array.from(publishRequests(hot), (request) => request.length)).toEqual([500, 500]);
  });
});
