import { describe, expect, it } from '@jest/globals';
import { openText, sealText } from './sealed-text.ts';

const key = Buffer.alloc(32, 1);

describe('sealed text', () => {
  it('is opened with the same key and context', () => {
    expect(openText(key, 'request-1', sealText(key, 'request-1', 'hush 🤫'))).toBe('hush 🤫');
  });

  it('differs each time, because its nonce is random', () => {
    expect(sealText(key, 'request-1', 'hush')).not.toBe(sealText(key, 'request-1', 'hush'));
  });

  it('is not opened with another key or context, or with a byte changed or missing', () => {
    const sealed = sealText(key, 'request-1', 'hush');
    const bytes = Buffer.from(sealed, 'base64');
    expect(() => openText(Buffer.alloc(32, 2), 'request-1', sealed)).toThrow();
    expect(() => openText(key, 'request-2', sealed)).toThrow();
    expect(() => openText(key, 'request-1', bytes.subarray(0, -1).toString('base64'))).toThrow();
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(bytes.readUInt8(at) ^ 1, at);
      expect(() => openText(key, 'request-1', changed.toString('base64'))).toThrow();
    }
  });

  it('is refused with a shorter tag, which would be easier to guess', () => {
    const bytes = Buffer.from(sealText(key, 'request-1', ''), 'base64');
    expect(bytes).toHaveLength(12 + 16);
    expect(() => openText(key, 'request-1', bytes.subarray(0, 12 + 4).toString('base64'))).toThrow();
  });
});
