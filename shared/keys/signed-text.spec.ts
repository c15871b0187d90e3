import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SignedText } from './signed-text.ts';

const KEY = Buffer.alloc(32, 1);
const cursors = new SignedText(KEY, 'cursors');
const read = (context: string, text: string): string | undefined => cursors.read(context, text)?.toString();

describe('signed text', () => {
  it('is read with its context, and is the same whenever it is written', () => {
    fc.assert(
      fc.property(fc.string(), fc.uint8Array({ maxLength: 500 }), (context, payload) => {
        const text = cursors.write(context, payload);
        expect(text).toMatch(/^[\w-]+$/);
        expect(cursors.read(context, text)).toEqual(Buffer.from(payload));
        expect(new SignedText(KEY, 'cursors').write(context, payload)).toBe(text);
      }),
    );
  });

  it('has a format that must not change, because clients keep it', () => {
    expect(cursors.write('usr_1', '42')).toBe('NDI1Fbjg30pHfVRj3ZjWGDow');
  });

  it('is refused with another context, another purpose or another key', () => {
    const text = cursors.write('usr_1', '42');
    expect(read('usr_1', text)).toBe('42');
    expect(read('usr_2', text)).toBeUndefined();
    expect(new SignedText(KEY, 'positions').read('usr_1', text)).toBeUndefined();
    expect(new SignedText(Buffer.alloc(32, 2), 'cursors').read('usr_1', text)).toBeUndefined();
  });

  it('is refused when characters are moved from its context to its payload', () => {
    const bytes = Buffer.from(cursors.write('usr_1', '42'), 'base64url');
    const moved = Buffer.concat([Buffer.from('1'), bytes]).toString('base64url');
    expect(read('usr_', moved)).toBeUndefined();
  });

  it('is refused when it is cut or any of its bits is changed', () => {
    const bytes = Buffer.from(cursors.write('usr_1', '42'), 'base64url');
    for (let length = 0; length < bytes.length; length += 1) {
      expect(read('usr_1', bytes.subarray(0, length).toString('base64url'))).toBeUndefined();
      expect(read('usr_1', bytes.subarray(bytes.length - length).toString('base64url'))).toBeUndefined();
    }
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(read('usr_1', changed.toString('base64url'))).toBeUndefined();
    }
  });

  it('is refused in any other base64 form of the same bytes', () => {
    const text = cursors.write('usr_1', '\u00ff\u00fe?>'.repeat(3));
    const others = [`${text}=`, `${text}==`, ` ${text}`, `${text}\n`, `${text.slice(0, 9)}*${text.slice(9)}`];
    for (const other of [...others, text.replaceAll('-', '+').replaceAll('_', '/'), text.toUpperCase()]) {
      if (other !== text) expect(read('usr_1', other)).toBeUndefined();
    }
    const loose = cursors.write('usr_1', '4');
    const last = loose.at(-1) ?? '';
    for (const other of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
      if (other !== last) expect(read('usr_1', loose.slice(0, -1) + other)).toBeUndefined();
    }
  });

  it('is refused when it was not written here, however long it is', () => {
    for (const text of [
      '',
      'x',
      '0',
      '{"$gt":""}',
      '__proto__',
      'A'.repeat(22),
      'A'.repeat(1_000_000),
      '\u0000',
      '💥',
    ]) {
      expect(read('usr_1', text)).toBeUndefined();
    }
    fc.assert(fc.property(fc.string(), (text) => read('usr_1', text) === undefined));
  });
});
