import { describe, expect, it } from '@jest/globals';
import { messageBytes, refusalOfSize } from './message-size.ts';

describe('the size of a message', () => {
  it('is that of its texts in UTF-8', () => {
    const message = { key: 'é', headers: { 'ce-id': '1', ü: '🏝' }, value: 'x€', timestamp: 0 };
    expect(messageBytes(message)).toBe(2 + 5 + 1 + 2 + 4 + 1 + 3);
    expect(messageBytes({ ...message, value: null })).toBe(2 + 5 + 1 + 2 + 4);
  });

  it('may be a million bytes', () => {
    expect(refusalOfSize([1, 1_000_000])).toBeUndefined();
    const refusal = refusalOfSize([1, 1_000_001, 1_000_002]);
    expect(refusal).toMatchObject({ index: 1, reason: expect.stringContaining('1000000 bytes') });
  });
});
