import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Cursors, resumePointAfter } from './stream-cursors.ts';

const cursors = new Cursors(Buffer.alloc(32, 1));

describe('a cursor', () => {
  it('is read as the resume point that was written', () => {
    const resumePoint = fc.record({
      position: fc.maxSafeNat(),
      newestAtMs: fc.option(fc.integer({ min: 1, max: 2 ** 47 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.string(), resumePoint, (channel, given) => {
        const cursor = cursors.write(channel, given);
        expect(cursors.read([channel], cursor)).toEqual(given);
        expect(cursor).toMatch(/^[\w-]{40}$/);
      }),
    );
  });

  it('of a history that has not begun is read with its block', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (historyFrom) => {
        const cursor = cursors.write('channel', { ...resumePointAfter(0), historyFrom });
        expect(cursors.read(['channel'], cursor)).toEqual({ ...resumePointAfter(0), historyFrom });
        expect(cursor).toMatch(/^[\w-]{51}$/);
      }),
    );
  });

  it('is valid in each of several scopes', () => {
    const cursor = cursors.write('contract', resumePointAfter(7));
    expect(cursors.read(['channel', 'contract'], cursor)).toEqual(resumePointAfter(7));
  });

  it('is refused for another channel, and when it was changed or made up', () => {
    const cursor = cursors.write('channel', resumePointAfter(7));
    expect(() => cursors.read(['other'], cursor)).toThrow('cursor_invalid');
    for (const text of ['', '0', `${cursor}A`, cursor.slice(1), 'A'.repeat(40)]) {
      expect(() => cursors.read(['channel'], text)).toThrow('cursor_invalid');
    }
  });
});
