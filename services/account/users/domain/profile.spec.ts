import { describe, expect, it } from '@jest/globals';
import { refusalBy } from '../../../../shared/testing/given.ts';
import { fittedProfile, readProfile } from './profile.ts';

const production = { allowLocalHttp: false };
const development = { allowLocalHttp: true };
/** Expects a refusal that names each invalid member and its error. */
const expectRefused = (
  profile: Parameters<typeof readProfile>[0],
  memberErrors: Record<string, RegExp>,
  settings = production,
) => {
  const refusal = refusalBy(() => readProfile(profile, settings));
  const errors = Object.entries(memberErrors).map(([path, why]) => ({ path, message: expect.stringMatching(why) }));
  expect(refusal).toMatchObject({ code: 'validation_failed', errors });
  expect(refusal.detail).toBe(refusal.errors?.map(({ path, message }) => `${path}: ${message}`).join('; '));
};

describe('a profile', () => {
  it('is trimmed and normalised to NFC', () => {
    expect(readProfile({ username: '  Zoe\u0308 ' }, production)).toEqual({ username: 'Zo\u00eb' });
  });

  it('has members that null, the empty text or white space clears', () => {
    const cleared = { username: null, firstname: null, lastname: null, avatar: null };
    expect(readProfile({ username: null, firstname: '', lastname: ' \u00a0\t', avatar: '' }, production)).toEqual(
      cleared,
    );
  });

  it('keeps members that are not given', () => {
    expect(readProfile({}, production)).toEqual({});
  });

  it('limits members by code points, counted after trimming', () => {
    const fifty = '😀'.repeat(50);
    expect(readProfile({ username: ` ${fifty} ` }, production)).toEqual({ username: fifty });
    expectRefused({ username: `${fifty}x` }, { username: /50/ });
    expect(readProfile({ signature: 'x'.repeat(200) }, production)).toEqual({ signature: 'x'.repeat(200) });
    expectRefused({ signature: 'x'.repeat(201), firstname: 'x'.repeat(51) }, { firstname: /50/, signature: /200/ });
    expect(readProfile({ lastname: 'e\u0301'.repeat(50) }, production)).toEqual({ lastname: '\u00e9'.repeat(50) });
  });

  it('is refused with control characters or lone surrogates', () => {
    for (const wrong of ['a\u0000b', 'a\nb', 'a\u0085b']) expectRefused({ username: wrong }, { username: /control/ });
    expectRefused({ username: 'a\ud800b' }, { username: /Unicode/ });
  });

  it('is refused with characters that are not seen and change how others are shown', () => {
    const wrong = [
      'ada\u202etxt',
      '\u2066ada',
      'a\u200bda',
      'ada\ufeff x',
      'a\u00adda',
      '\u200dada',
      'ad\u200da',
      'ada\u200c',
    ];
    for (const text of wrong) expectRefused({ username: text }, { username: /invisible/ });
    expectRefused({ username: '\u0645\u200c\u200c\u0645' }, { username: /invisible/ });
    expectRefused({ avatar: 'https://img.example/a\u202egnp.exe' }, { avatar: /invisible/ });
  });

  it('may have the joiners that Persian, Sinhala and emoji are written with', () => {
    for (const username of [
      '\u0639\u0644\u06cc\u200c\u0631\u0636\u0627',
      '\u0dc1\u0dca\u200d\u0dbb\u0dd3',
      '👩🏽\u200d🚀',
      '🏳️\u200d🌈',
    ]) {
      expect(readProfile({ username }, production)).toEqual({ username });
    }
  });

  it('has an avatar that is an https URL of at most 2048 characters', () => {
    const url = `https://img.example/${'x'.repeat(2_028)}`;
    expect(readProfile({ avatar: url }, production)).toEqual({ avatar: url });
    expectRefused({ avatar: `${url}x` }, { avatar: /2048/ });
    const wrong = [
      'http://img.example/a.png',
      'javascript:alert(1)',
      'data:image/png;base64,',
      'a.png',
      'https://',
      'https:img.example/a.png',
      'https:/img.example/https://img.example/a.png',
      'https://img.example/a b.png',
      'https://img.example/"><script>',
      'https://img.example\\a.png',
      'https://user:pass@img.example/',
      'https://user@img.example/',
      'https://@img.example/',
      'https://xn--',
      'https://a.xn--0.example/',
    ];
    for (const avatar of wrong) expectRefused({ avatar }, { avatar: /https/ });
    expectRefused({ avatar: 'http://localhost:5173/a.png' }, { avatar: /https/ });
    expect(readProfile({ avatar: 'http://localhost:5173/a.png' }, development)).toEqual({
      avatar: 'http://localhost:5173/a.png',
    });
    const international = 'https://xn--bcher-kva.example/@ada?to=a@b';
    expect(readProfile({ avatar: international }, production)).toEqual({ avatar: international });
    expectRefused({ avatar: 'http://localhost.evil/a.png' }, { avatar: /https/ }, development);
  });

  it('has directions of writing in its signature only, each with its end', () => {
    const signature = '\u200f\u05e9\u05dc\u05d5\u05dd\u2067a\u2069';
    expect(readProfile({ signature }, production)).toEqual({ signature });
    expectRefused({ signature: 'a\u2067b', firstname: '\u200fa' }, { firstname: /U\+200F/, signature: /U\+2067/ });
    expectRefused({ signature: '\u200f' }, { signature: /no visible/ });
  });
});

describe('a profile that somebody else says', () => {
  it('is made to fit, and what cannot be is left out', () => {
    const said = {
      username: 'x'.repeat(64),
      firstname: '\u200eAda\u2060',
      lastname: '\u3164',
      avatar: 'http://t.me/a.jpg',
      signature: 7,
    };
    expect(fittedProfile(said, production)).toEqual({ username: 'x'.repeat(50), firstname: 'Ada' });
    expect(fittedProfile({ avatar: ' https://t.me/a.jpg ' }, production)).toEqual({ avatar: 'https://t.me/a.jpg' });
    expect(fittedProfile({ avatar: 'http://localhost/a' }, development)).toEqual({ avatar: 'http://localhost/a' });
    const urls = ['', `https://img.example/${'x'.repeat(2_048)}`, 'https://img.example/\u202e'];
    for (const avatar of urls) expect(fittedProfile({ avatar, username: null }, production)).toEqual({});
  });
});
