/**
 * Invisible characters. U+2800 is a Braille pattern without dots; U+FFF9 to U+FFFB enclose annotations, which typed
 * text never has.
 */
const UNSEEN = String.raw`[\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800\ufff9-\ufffb]`;
const CONTROL = String.raw`[\p{Cc}\p{Zl}\p{Zp}]`;

/**
 * Canonical combining class 9 (UnicodeData.txt): the sign that removes a consonant's vowel. JavaScript has no class for
 * it.
 */
const VIRAMAS =
  '\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84\u1039\u103a\u1714\u1715' +
  '\u1734\u17d2\u1a60\u1b44\u1baa\u1bab\u1bf2\u1bf3\u2d7f\ua806\ua82c\ua8c4\ua953\ua9c0\uaaf6\uabed\u{10a3f}\u{11046}' +
  '\u{11070}\u{1107f}\u{110b9}\u{11133}\u{11134}\u{111c0}\u{11235}\u{112ea}\u{1134d}\u{113ce}-\u{113d0}\u{11442}' +
  '\u{114c2}\u{115bf}\u{1163f}\u{116b6}\u{1172b}\u{11839}\u{1193d}\u{1193e}\u{119e0}\u{11a34}\u{11a47}\u{11a99}' +
  '\u{11c3f}\u{11d44}\u{11d45}\u{11d97}\u{11f41}\u{11f42}\u{1612f}';

/** Letters and marks of these scripts. */
const lettersOf = (scripts: string): string =>
  String.raw`[[${scripts
    .split(' ')
    .map((script) => String.raw`\p{scx=${script}}`)
    .join('')}]&&[\p{L}\p{M}]]`;
/** Scripts whose correct spelling needs the two joiners. */
const JOINING = lettersOf('Arab Beng Deva Gujr Guru Khmr Knda Mlym Mong Mymr Nkoo Orya Sinh Syrc Taml Telu');
/** Scripts without spaces between words, where U+200B marks possible line breaks. */
const SPACELESS = lettersOf('Khmr Laoo Mymr Thai');
const MONGOLIAN = lettersOf('Mong');
const TAG_LETTER = String.raw`[\u{e0061}-\u{e007a}]`;
const TAG_DIGIT = String.raw`[\u{e0030}-\u{e0039}]`;
const TAG_ALPHANUMERIC = String.raw`[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]`;

/** Places where a script or an emoji needs a character that is invisible by itself. */
const NEEDED = [
  String.raw`(?<=[${VIRAMAS}])[\u200c\u200d]`,
  String.raw`(?<=${JOINING})[\u200c\u200d](?=${JOINING})`,
  // Kurdish writes a vowel as heh and a non-joiner, at the end of a word too.
  String.raw`(?<=[\u0647\u06be])\u200c`,
  String.raw`(?<=[\p{ExtPict}\p{EMod}\ufe0f])\u200d(?=\p{ExtPict})`,
  // The flag of a region within a country, such as Scotland (UTS #51, ED-14a).
  String.raw`(?<=\u{1f3f4})(?:${TAG_LETTER}{2}|${TAG_DIGIT}{3})${TAG_ALPHANUMERIC}{1,4}\u{e007f}`,
  // Variation selectors, including those of Mongolian.
  String.raw`(?<=[^${UNSEEN}${CONTROL}\p{White_Space}])[\ufe00-\ufe0f\u{e0100}-\u{e01ef}\u180b-\u180d\u180f]`,
  String.raw`(?<=${MONGOLIAN})\u180e(?=${MONGOLIAN})`,
  String.raw`(?<=${SPACELESS})\u200b(?=${SPACELESS})`,
].join('|');

const special = new RegExp(`(?<needed>${NEEDED})|(?<control>${CONTROL})|(?<unseen>${UNSEEN})`, 'gv');
/** A mark without a letter shows nothing of its own. */
const visible = new RegExp(String.raw`[^${UNSEEN}${CONTROL}\p{White_Space}\p{Mn}\p{Me}\p{Cs}]`, 'v');

const DIRECTION_MARKS = /[\u061c\u200e\u200f]/g;
/**
 * An embedding or an isolate with its end, and none of these within. Does not include overrides, because they reverse
 * letters.
 */
const DIRECTED =
  /[\u202a\u202b]([^\u202a-\u202e\u2066-\u2069]*)\u202c|[\u2066-\u2068]([^\u202a-\u202e\u2066-\u2069]*)\u2069/g;

/** Returns what is wrong with a text that is not empty; `undefined` if it shows everything that it contains. */
export const errorOfText = (text: string): string | undefined => {
  if (!text.isWellFormed()) return 'is not well-formed Unicode';
  for (const { groups } of text.matchAll(special)) {
    if (groups?.control !== undefined) return `has the control character ${codePointOf(groups.control)}`;
    if (groups?.unseen !== undefined) return `has the invisible character ${codePointOf(groups.unseen)}`;
  }
  return visible.test(text) ? undefined : 'has no visible character';
};

/** Removes marks of direction, and embeddings and isolates that end within the text. */
export const withoutDirections = (text: string): string => {
  const flat = text.replaceAll(DIRECTED, '$1$2');
  return flat === text ? text.replaceAll(DIRECTION_MARKS, '') : withoutDirections(flat);
};

/**
 * Makes a third party's text about a person fit: in NFC, trimmed, without invisible characters, and cut to a length in
 * code points. Returns `undefined` if nothing visible is left.
 */
export const fittedText = (said: string, charactersMax: number): string | undefined => {
  const seen = withoutUnseen(said.toWellFormed());
  // The cut may leave the first half of an emoji, with a joiner at its end.
  const text = withoutUnseen(Array.from(seen).slice(0, charactersMax).join(''));
  return visible.test(text) ? text : undefined;
};

const withoutUnseen = (text: string): string =>
  text
    .normalize('NFC')
    .replaceAll(special, (...match) => (match.at(-1) as Record<string, string | undefined>).needed ?? '')
    .normalize('NFC')
    .trim();

const codePointOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
