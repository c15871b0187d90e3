import { describe, expect, it } from '@jest/globals';
import type { ClaimPaths } from '../../../../../shared/config/oauth-settings.ts';
import { isKnown, OPENID_CLAIMS, personOf, subjectAt } from './provider-claims.ts';

const personWith = (subject: unknown, said: object = {}, paths: ClaimPaths = {}) =>
  personOf({ issuer: 'https://site.example', subject, said, paths }, { allowLocalHttp: false });
const person = (said: object, paths: ClaimPaths = OPENID_CLAIMS) => personWith('a-subject', said, paths);
const labelOf = (said: object, paths?: ClaimPaths) => person(said, paths).label;

describe('the label of an identity', () => {
  it('is the address, else the user name, else the name, else the subject', () => {
    const all = { email: 'a@example.org', preferred_username: 'ada', name: 'Ada' };
    expect(labelOf(all)).toBe('a@example.org');
    expect(labelOf({ ...all, email: ' ' })).toBe('ada');
    expect(labelOf({ name: 'Ada', email: 7 })).toBe('Ada');
    expect(labelOf({})).toBe('a-subject');
  });

  it('has no characters that are not seen, and at most 100', () => {
    expect(labelOf({ name: '\u202eeva\u0000\n\u200b ' })).toBe('eva');
    expect(labelOf({ name: '\u{1f600}'.repeat(200) })).toBe('\u{1f600}'.repeat(100));
    expect(labelOf({ name: 'a\ud800' })).toBe('a\ufffd');
  });

  it('is found by the paths that are configured', () => {
    expect(labelOf({ data: { login: 'ada' } }, { username: 'data.login' })).toBe('ada');
    expect(labelOf({ email: 'a@example.org' }, {})).toBe('a-subject');
    expect(labelOf({}, { name: 'constructor.name' })).toBe('a-subject');
  });
});

describe('the profile of a person', () => {
  const picture = 'https://site.example/ada.png';

  it('is what an OpenID provider says, made to fit', () => {
    const said = { given_name: ' Ada\u200b ', family_name: 'L'.repeat(60), picture, preferred_username: 'ada' };
    expect(person(said).profile).toEqual({
      username: 'ada',
      firstname: 'Ada',
      lastname: 'L'.repeat(50),
      avatar: picture,
    });
    expect(person({ given_name: 7, family_name: '\u200b', picture: 'javascript:alert(1)' }).profile).toEqual({});
  });

  it('shows no address to everybody', () => {
    expect(person({ preferred_username: 'ada@example.org', given_name: 'Ada' }).profile).toEqual({ firstname: 'Ada' });
  });

  it('is what the settings name, and nothing else', () => {
    const said = { nick: 'ada', name: { first: 'Ada' }, picture, given_name: 'Augusta' };
    const paths = { username: 'nick', firstname: 'name.first' };
    expect(person(said, paths).profile).toEqual({ username: 'ada', firstname: 'Ada' });
    expect(person(said, {}).profile).toEqual({});
  });

  it('is known when there is a label, and something to fill in', () => {
    expect(isKnown({ email: 'a@example.org', given_name: 'Ada' }, OPENID_CLAIMS)).toBe(true);
    expect(isKnown({ email: 'a@example.org' }, OPENID_CLAIMS)).toBe(false);
    expect(isKnown({ given_name: 'Ada' }, OPENID_CLAIMS)).toBe(false);
  });
});

describe('the subject of an identity', () => {
  it('is 1 to 255 visible characters', () => {
    for (const subject of ['7', 'x'.repeat(255), '\u{1f600}'.repeat(255), 'cn=Ada Lovelace,ou=people', 'auth0|x']) {
      expect(personWith(subject).subject).toBe(subject);
    }
  });

  it.each<[string, unknown]>([
    ['empty', ''],
    ['blank', ' '],
    ['blank at its end', 'ada '],
    ['too long', 'x'.repeat(256)],
    ['with a NUL', 'ada\u0000'],
    ['with a line break', 'ada\n'],
    ['with a character that nobody sees', 'ada\u200b'],
    ['of nothing that anybody sees', '\u2800'],
    ['half a character', '\ud800'],
    ['missing', undefined],
    ['a number', 7],
    ['an object', { $gt: '' }],
  ])('is refused when it is %s', (_, subject) => {
    expect(() => personWith(subject)).toThrow(expect.objectContaining({ reason: 'subject_refused' }));
  });

  it('is read as text where it is a number that JSON has not rounded', () => {
    expect(subjectAt({ data: { id: 7 } }, 'data.id')).toBe('7');
    for (const id of [2 ** 53, 1.5, null, true, ['7']]) expect(subjectAt({ id }, 'id')).toBe(id);
    expect(subjectAt({}, 'toString')).toBeUndefined();
  });
});
