import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { Cursors, placeOf } from './cursor.ts';

const cursors = new Cursors(Buffer.alloc(32, 1));
const codeOf = (read: () => unknown): string => {
  try {
    read();
    return 'accepted';
  } catch (error) {
    return error instanceof Refusal ? error.code : 'other';
  }
};

describe('a cursor', () => {
  it('leads back to its place, and is the same wherever it is made', () => {
    const place = fc.record({
      position: fc.maxSafeNat(),
      markedAtMs: fc.option(fc.integer({ min: 1, max: 2 ** 47 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.string(), place, (channel, given) => {
        const cursor = cursors.write(channel, given);
        expect(cursors.read(channel, cursor)).toEqual(given);
        expect(new Cursors(Buffer.alloc(32, 1)).write(channel, given)).toBe(cursor);
        expect(cursor).toMatch(/^[\w-]{40}$/);
      }),
    );
  });

  it('is refused on another channel, under another key, and changed in any character', () => {
    const cursor = cursors.write('channel', placeOf(7));
    expect(codeOf(() => cursors.read('other', cursor))).toBe('cursor_invalid');
    expect(codeOf(() => new Cursors(Buffer.alloc(32, 2)).read('channel', cursor))).toBe('cursor_invalid');
    for (let at = 0; at < cursor.length; at += 1) {
      const changed = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1);
      expect(codeOf(() => cursors.read('channel', changed))).toBe('cursor_invalid');
    }
  });

  it('is nothing that somebody makes up', () => {
    for (const text of ['', 'x', '0', '{"$gt":""}', '__proto__', 'A'.repeat(40), 'A'.repeat(1_000), '\u0000', '💥']) {
      expect(codeOf(() => cursors.read('channel', text))).toBe('cursor_invalid');
    }
  });
});
