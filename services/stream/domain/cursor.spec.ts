import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SignedText } from '../../../shared/keys/signed-text.ts';
import { Cursors, placeOf } from './cursor.ts';

const cursors = new Cursors(new SignedText(Buffer.alloc(32, 1), 'stream cursors'));

describe('a cursor', () => {
  it('leads back to its place', () => {
    const place = fc.record({
      position: fc.maxSafeNat(),
      markedAtMs: fc.option(fc.integer({ min: 1, max: 2 ** 47 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.string(), place, (channel, given) => {
        const cursor = cursors.write(channel, given);
        expect(cursors.read(channel, cursor)).toEqual(given);
        expect(cursor).toMatch(/^[\w-]{40}$/);
      }),
    );
  });

  it('is refused on another channel, and when it was not given', () => {
    const cursor = cursors.write('channel', placeOf(7));
    expect(() => cursors.read('other', cursor)).toThrow('cursor_invalid');
    for (const text of ['', '0', `${cursor}A`, cursor.slice(1), 'A'.repeat(40)]) {
      expect(() => cursors.read('channel', text)).toThrow('cursor_invalid');
    }
  });
});
