import { describe, expect, it } from '@jest/globals';
import { messageBytes, refusalOfSize } from './message-size.ts';

describe('the size of a message', () => {
  it('is that of its texts in UTF-8', () => {
    const message = { key: 'é', headers: { 'ce-id': '1', ü: '🏝' }, value: 'x€', timestamp: 0 };
    expect(messageBytes(message)).toBe(2 + 5 + 1 + 2 + 4 + 1 + 3);
    expect(messageBytes({ ...message, value: null })).toBe(2 + 5 + 1 + 2 + 4);
  });

  it('may be a million bytes', () => {
    const sized = (value: string) => ({ key: 'k', headers: { h: 'h' }, value, timestamp: 0 });
    const [most, tooMuch] = ['é'.repeat(499_998), 'é'.repeat(499_999)].map((text) => sized(`${text}x`));
    if (!most || !tooMuch) throw new Error('there are two');
    expect([messageBytes(most), messageBytes(tooMuch)]).toEqual([1_000_000, 1_000_002]);
    expect(refusalOfSize([sized(''), most])).toBeUndefined();
    const refusal = refusalOfSize([most, tooMuch, tooMuch]);
    expect(refusal).toMatchObject({ index: 1, reason: expect.stringContaining('1000000 bytes') });
  });
});
