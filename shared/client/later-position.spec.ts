import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PositionHeader } from '../edge/answers/position-header.ts';
import { MemoryEventStore } from '../testing/engines/event-store.memory.ts';
import { laterPosition } from './later-position.ts';

describe('the later of two positions', () => {
  const header = new PositionHeader(Buffer.alloc(32, 1), new MemoryEventStore());

  it('is the one that the service reads as greater', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), (one, other) => {
        const later = laterPosition(header.write(one), header.write(other)) ?? '';
        expect(header.read(later)).toBe(Math.max(one, other));
      }),
    );
  });

  it('is the one that there is', () => {
    expect(laterPosition(undefined, 'x')).toBe('x');
    expect(laterPosition('x', undefined)).toBe('x');
    expect(laterPosition(undefined, undefined)).toBeUndefined();
  });
});
