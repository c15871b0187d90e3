import { describe, expect, it } from '@jest/globals';
import { errorOfText, fittedText, withoutDirections } from './visible-text.ts';

const ZWJ = '\u200d';
const singles = Array.from({ length: 0x20000 }, (_, at) => at)
  .filter((at) => at < 0xd800 || at > 0xdfff)
  .map((at) => String.fromCodePoint(at))
  .filter((character) => /^\p{Emoji}$/v.test(character));
const TONES = ['\u{1f3fb}', '\u{1f3fc}', '\u{1f3fd}', '\u{1f3fe}', '\u{1f3ff}'];
/** What the second half of an emoji of two is in Unicode 17. */
const SECONDS = Array.from(
  '♀♂⚕⚖✈⚧☠❄❤➡↔↕⬛🌈🌾🍳🍼🍄🍋🎄🎓🎤🎨🏫🏭💥💨💫💻💼🔥🔧🔬🗨🚀🚒🟩🟫🤝🦯🦰🦱🦲🦳🦺🦼🦽🩹🩰🪈🐦⛓🫯👦👧👨👩🧑🧒🐰',
);
const isEmoji = (text: string) => /^\p{RGI_Emoji}$/v.test(text);
const flags = (letters: string) =>
  `\u{1f3f4}${Array.from(letters, (one) => String.fromCodePoint(0xe0000 + one.charCodeAt(0))).join('')}\u{e007f}`;

const emoji = (): Set<string> => {
  const toned = singles.flatMap((one) => [one, `${one}\ufe0f`, ...TONES.map((tone) => one + tone)]);
  const keycaps = Array.from('#*0123456789', (key) => `${key}\ufe0f\u20e3`);
  const letters = singles.filter((one) => /^\p{Regional_Indicator}$/v.test(one));
  const countries = letters.flatMap((one) => letters.map((other) => one + other));
  const firsts = toned.filter((one) => isEmoji(one) || isEmoji(`${one}\ufe0f`));
  const seconds = SECONDS.flatMap((one) => [one, `${one}\ufe0f`, ...TONES.map((tone) => one + tone)]);
  const pairs = firsts.flatMap((one) => seconds.map((other) => `${one}${ZWJ}${other}`));
  const people = ['👨', '👩', '🧑', '👦', '👧', '🧒'].flatMap((one) => [one, ...TONES.map((tone) => one + tone)]);
  const three = people.flatMap((one) =>
    [
      '❤\ufe0f',
      '❤\ufe0f\u200d💋',
      '🤝',
      '🫯',
      '👩',
      '👨',
      '👧',
      '👦',
      '🧑\u200d🧒',
      '🧒',
      '👩\u200d👦',
      '👩\u200d👧',
      '👨\u200d👦',
      '👨\u200d👧',
      '👧\u200d👦',
      '🐰',
    ].flatMap((middle) => people.map((other) => [one, middle, other].join(ZWJ))),
  );
  const facing = pairs.filter(isEmoji).flatMap((one) => [`${one}${ZWJ}➡\ufe0f`]);
  const all = [
    ...toned,
    ...keycaps,
    ...countries,
    ...pairs,
    ...three,
    ...facing,
    ...['gbeng', 'gbsct', 'gbwls'].map(flags),
  ];
  return new Set(all.filter(isEmoji));
};

describe('a visible text', () => {
  it('may be any emoji', () => {
    const all = emoji();
    expect(all.size).toBeGreaterThan(3_500);
    expect([...all].filter((text) => errorOfText(text) !== undefined)).toEqual([]);
    expect([...all].filter((text) => fittedText(text, 50) !== text)).toEqual([]);
  });

  it.each([
    ['Persian', '\u0639\u0644\u06cc\u200c\u0631\u0636\u0627'],
    ['Kurdish', '\u0643\u0648\u0631\u062f\u0647\u200c'],
    ['Sinhala', '\u0dc1\u0dca\u200d\u0dbb\u0dd3'],
    ['Hindi', '\u0915\u094d\u200d\u0937'],
    ['Nepali', '\u0917\u0930\u094d\u200d\u092f\u094b'],
    ['Bengali', '\u09b0\u200d\u09cd\u09af\u09be\u09ac'],
    ['Malayalam, at the end of a word', '\u0d05\u0d35\u0d28\u0d4d\u200d'],
    ['Malayalam, before a space', '\u0d05\u0d35\u0d28\u0d4d\u200d \u0d05'],
    ['Khmer', '\u1781\u17d2\u1789\u17bb\u17c6\u200b\u179f\u17d2\u179a\u17a1\u17b6\u1789\u17cb'],
    ['Mongolian', '\u182e\u1823\u1829\u182d\u1823\u182f\u180b'],
    ['Mongolian with its vowel separator', '\u182a\u1822\u1834\u1822\u182d\u180e\u1820'],
    ['Arabic signs that Unicode calls format characters', '\u06dd\u0600'],
    ["a region's flag that is no emoji yet", flags('ustx')],
    ['a keycap', '1\ufe0f\u20e3'],
    ['an ideograph with a variation selector', '\u845b\u{e0100}'],
    ['private use', '\ue000'],
  ])('may be %s', (_, text) => {
    expect(errorOfText(text)).toBeUndefined();
    expect(fittedText(text, 50)).toBe(text.normalize('NFC'));
  });

  it.each(
    Array.from(
      '\u3164\uffa0\u115f\u1160\u2800\u034f\ufe0f\u17b4\u17b5\uffff\ufdd0\u200b\u200d\u2060\u00ad\u061c\u{e0041}\u{e0100}\ufff9',
    ),
  )('is not %j', (text) => {
    expect(errorOfText(text)).toMatch(/invisible character U\+/);
    expect(errorOfText(`ada ${text}`)).toMatch(/invisible character U\+/);
    expect(fittedText(text, 50)).toBeUndefined();
    expect(fittedText(`ada ${text}`, 50)).toBe('ada');
  });

  it.each([
    ['a tag that no flag has', '\u{1f3f4}\u{e0068}\u{e0069}'],
    ['tags behind another emoji', '😀\u{e0067}\u{e0062}\u{e0065}\u{e007f}'],
    ['a hidden text behind a flag', flags('gbengandmore')],
    ['a second joiner', '\u0d28\u0d4d\u200d\u200d'],
    ['a second variation selector', '☺\ufe0f\ufe0f'],
    ['a variation selector behind a space', 'a \ufe0fb'],
    ['a joiner between Latin letters', 'a\u200db'],
    ['a joiner at the end of an emoji', '👩\u200d'],
    ['a word joiner in Khmer', '\u1781\u2060\u1789'],
  ])('has nothing that is not needed: %s', (_, text) => {
    expect(errorOfText(text)).toMatch(/invisible character U\+/);
  });

  it('has something that is seen', () => {
    expect(errorOfText('\u0301')).toBe('has no visible character');
    expect(errorOfText('\u2003')).toBe('has no visible character');
  });

  it('has no control character, line break or half of a character', () => {
    for (const text of ['a\u0000b', 'a\nb', 'a\u0085b', 'a\u2028b'])
      expect(errorOfText(text)).toMatch(/control character U\+/);
    expect(errorOfText('a\ud800b')).toMatch(/Unicode/);
  });
});

describe('directions of writing', () => {
  it('are left out of a text where each begins and ends', () => {
    expect(withoutDirections('\u200eab\u200fc\u061c')).toBe('abc');
    expect(withoutDirections('\u2067a\u202ab\u202cc\u2069d')).toBe('abcd');
  });

  it.each(['a\u202db\u202c', 'a\u202eb\u202c', '\u2067a', 'a\u2069', '\u202a\u2067a\u202c\u2069', '\u2067a\u202c'])(
    'stay where they do not, or turn letters around: %j',
    (text) => {
      expect(errorOfText(withoutDirections(text))).toMatch(/invisible/);
    },
  );
});

describe('a text that somebody else says', () => {
  it('is cut by characters, and has no half of an emoji at its end that asks for more', () => {
    expect(fittedText('x'.repeat(64), 50)).toBe('x'.repeat(50));
    expect(fittedText(`${'x'.repeat(48)}👩\u200d🚀`, 50)).toBe(`${'x'.repeat(48)}👩`);
    expect(fittedText(`${'x'.repeat(47)}${flags('gbeng')}`, 50)).toBe(`${'x'.repeat(47)}\u{1f3f4}`);
    expect(fittedText(`${'x'.repeat(49)} y`, 50)).toBe('x'.repeat(49));
  });

  it('is shown without what nobody sees', () => {
    expect(fittedText('\u200e\u202eAda\u2060 \u0000Lovelace\u200b ', 50)).toBe('Ada Lovelace');
    expect(fittedText('e\u200b\u0301', 50)).toBe('\u00e9');
    expect(fittedText('a\ud800', 50)).toBe('a\ufffd');
    for (const nothing of ['', ' ', '\u200b', '\u0000', '\u3164 \u3164'])
      expect(fittedText(nothing, 50)).toBeUndefined();
  });
});
