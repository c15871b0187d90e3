import type { MessengerChanges, ProfileChanges } from '../../../schemas/events/user-events.ts';
import type { FieldError } from '../../../schemas/http/problem.ts';
import { messengerRules, profileRules, type ProfileMember, type ProfileRule } from '../../../schemas/profile.ts';
import { invalid } from '../../../shared/errors/refusal.ts';

/**
 * Returns profile changes as they are stored: trimmed, in Unicode NFC, with `null` for empty text.
 * @throws Refusal validation_failed, which names every invalid member
 */
export const readProfile = (given: ProfileChanges, options: TextOptions): ProfileChanges =>
  readTexts<ProfileMember>(profileRules, given, options);

/** The same of the texts of a messenger. */
export const readMessengerTexts = (given: MessengerChanges, options: TextOptions): MessengerChanges =>
  readTexts<keyof typeof messengerRules>(messengerRules, given, options);

interface TextOptions {
  allowLocalHttp: boolean;
  /** What a member was called in the request, for the refusal. */
  nameOf?: (member: string) => string;
}

const readTexts = <Member extends string>(
  rules: Record<Member, ProfileRule>,
  given: { [Name in Member]?: string | null },
  { allowLocalHttp, nameOf = (member) => member }: TextOptions,
): { [Name in Member]?: string | null } => {
  const errors: FieldError[] = [];
  const texts: { [Name in Member]?: string | null } = {};
  for (const member of Object.keys(rules) as Member[]) {
    const value = given[member];
    if (value === undefined) continue;
    const text = value?.normalize('NFC').trim() ?? '';
    const message = errorOf(rules[member], text, allowLocalHttp);
    if (message !== undefined) errors.push({ path: nameOf(member), message });
    texts[member] = text === '' ? null : text;
  }
  if (errors.length > 0) throw invalid(...errors);
  return texts;
};

/**
 * Scripts that are not written right without the two joiners. In others they, and every other format character, only make
 * one name look like another.
 */
const JOINING = 'Arab Beng Deva Gujr Guru Khmr Knda Mlym Mong Mymr Nkoo Orya Sinh Syrc Taml Telu'
  .split(' ')
  .map((script) => String.raw`\p{scx=${script}}`)
  .join('');
const JOINERS = new RegExp(
  String.raw`(?<=[[${JOINING}]&&[\p{L}\p{M}]])[\u200c\u200d](?=[[${JOINING}]&&\p{L}])` +
    String.raw`|(?<=[\p{ExtPict}\p{EMod}\ufe0f])\u200d(?=\p{ExtPict})`,
  'gv',
);

const errorOf = ({ charactersMax, isUrl }: ProfileRule, text: string, allowLocalHttp: boolean): string | undefined => {
  if (/\p{Cc}/u.test(text)) return 'has a control character';
  if (/\p{Cf}/u.test(text.replace(JOINERS, ''))) return 'has a character that is not seen';
  if (!text.isWellFormed()) return 'is not well-formed Unicode';
  if (Array.from(text).length > charactersMax) return `has more than ${String(charactersMax)} characters`;
  if (isUrl && text !== '' && !isAllowedUrl(text, allowLocalHttp)) return 'is not an https URL';
  return undefined;
};

/** Characters that RFC 3986 does not allow and that parsers correct differently. The URL is shown on others' pages. */
const NOT_IN_URLS = /[\s<>"\\^`{|}]/;

const isAllowedUrl = (text: string, allowLocalHttp: boolean): boolean => {
  const url = URL.parse(text);
  if (!url || NOT_IN_URLS.test(text) || !/^https?:\/\//i.test(text)) return false;
  return url.protocol === 'https:' || (allowLocalHttp && url.hostname === 'localhost');
};
