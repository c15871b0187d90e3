import { describe, expect, it } from '@jest/globals';
import { labelOf, subjectOf } from './provider-claims.ts';

describe('the label of an identity', () => {
  it('is the address, else the user name, else the name', () => {
    const all = { email: 'a@example.org', preferred_username: 'ada', name: 'Ada' };
    expect(labelOf(all)).toBe('a@example.org');
    expect(labelOf({ ...all, email: ' ' })).toBe('ada');
    expect(labelOf({ name: 'Ada', email: 7 })).toBe('Ada');
    expect(labelOf({})).toBeUndefined();
    expect(labelOf(null)).toBeUndefined();
  });

  it('has no characters that are not seen, and at most 100', () => {
    expect(labelOf({ name: '\u202eeva\u0000\n\u200b ' })).toBe('eva');
    expect(labelOf({ name: '\u{1f600}'.repeat(200) })).toBe('\u{1f600}'.repeat(100));
    expect(labelOf({ name: 'a\ud800' })).toBe('a\ufffd');
  });

  it('is found by the paths that are configured', () => {
    expect(labelOf({ data: { login: 'ada' } }, { username: 'data.login' })).toBe('ada');
    expect(labelOf({ email: 'a@example.org' }, {})).toBeUndefined();
    expect(labelOf({}, { name: 'constructor.name' })).toBeUndefined();
  });
});

describe('the subject of an identity', () => {
  it('is a text, or a number that JSON has not rounded', () => {
    expect(subjectOf({ id: '7' }, 'id')).toBe('7');
    expect(subjectOf({ data: { id: 7 } }, 'data.id')).toBe('7');
    for (const id of ['', 'x'.repeat(256), 2 ** 53, 1.5, null, true, {}, ['7']]) {
      expect(subjectOf({ id }, 'id')).toBeUndefined();
    }
    expect(subjectOf({}, 'toString')).toBeUndefined();
  });
});
