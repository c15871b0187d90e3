import type { MessengerChanges, ProfileChanges } from '../../../../schemas/events/account/user-events.ts';
import type { FieldError } from '../../../../schemas/http/problem.ts';
import { messengerRules, profileRules, type ProfileMember, type ProfileRule } from '../../../../schemas/profile.ts';
import { invalid } from '../../../../shared/errors/refusal.ts';
import { errorOfText, fittedText, withoutDirections } from './visible-text.ts';

/**
 * Returns profile changes in their stored form: trimmed, in Unicode NFC, with `null` for empty text.
 * @throws Refusal validation_failed, which names every invalid member
 */
export const readProfile = (given: ProfileChanges, options: TextOptions): ProfileChanges =>
  readTexts<ProfileMember>(profileRules, given, options);

/** Like `readProfile`, for the texts of a messenger. */
export const readMessengerTexts = (given: MessengerChanges, options: TextOptions): MessengerChanges =>
  readTexts<keyof typeof messengerRules>(messengerRules, given, options);

interface TextOptions {
  allowLocalHttp: boolean;
}

const readTexts = <Member extends string>(
  rules: Record<Member, ProfileRule>,
  given: { [Name in Member]?: string | null },
  { allowLocalHttp }: TextOptions,
): { [Name in Member]?: string | null } => {
  const errors: FieldError[] = [];
  const texts: { [Name in Member]?: string | null } = {};
  for (const member of Object.keys(rules) as Member[]) {
    const value = given[member];
    if (value === undefined) continue;
    const text = value?.normalize('NFC').trim() ?? '';
    const message = errorOf(rules[member], text, allowLocalHttp);
    if (message !== undefined) errors.push({ path: member, message });
    texts[member] = text === '' ? null : text;
  }
  if (errors.length > 0) throw invalid(...errors);
  return texts;
};

const errorOf = (rule: ProfileRule, text: string, allowLocalHttp: boolean): string | undefined => {
  const { charactersMax, isUrl, isProse = false } = rule;
  if (text === '') return undefined;
  if (Array.from(text).length > charactersMax) return `has more than ${String(charactersMax)} characters`;
  const error = errorOfText(isProse ? withoutDirections(text) : text);
  if (error === undefined && isUrl && !isAllowedUrl(text, allowLocalHttp)) return 'is not an https URL';
  return error;
};

/**
 * Makes profile data of a third party fit, in its stored form: cuts texts and removes invisible characters, and leaves
 * out members that cannot be made to fit.
 * @param said members of any type
 */
export const fittedProfile = (
  said: { [Name in ProfileMember]?: unknown },
  { allowLocalHttp }: Pick<TextOptions, 'allowLocalHttp'>,
): { [Name in ProfileMember]?: string } => {
  const fitted: { [Name in ProfileMember]?: string } = {};
  for (const member of Object.keys(profileRules) as ProfileMember[]) {
    const value = said[member];
    const text = typeof value === 'string' ? fittedMember(profileRules[member], value, allowLocalHttp) : undefined;
    if (text !== undefined) fitted[member] = text;
  }
  return fitted;
};

const fittedMember = (rule: ProfileRule, said: string, allowLocalHttp: boolean): string | undefined => {
  if (!rule.isUrl) return fittedText(said, rule.charactersMax);
  const url = said.trim();
  return url === '' || errorOf(rule, url, allowLocalHttp) !== undefined ? undefined : url.normalize('NFC');
};

/** Characters that RFC 3986 does not allow and that parsers correct differently. The URL is shown on others' pages. */
const NOT_IN_URLS = /[\s<>"\\^`{|}]/;
/** A name and password before the host. */
const CREDENTIALS = /^https?:\/\/[^/?#]*@/i;

const isAllowedUrl = (text: string, allowLocalHttp: boolean): boolean => {
  const url = URL.parse(text);
  if (!url || NOT_IN_URLS.test(text) || !/^https?:\/\//i.test(text) || CREDENTIALS.test(text)) return false;
  if (!url.hostname.split('.').every(isLabel)) return false;
  return url.protocol === 'https:' || (allowLocalHttp && url.hostname === 'localhost');
};

/**
 * `URL` checks the Punycode of a label only if another label is not ASCII, so each label is parsed beside the label
 * `ü`.
 */
const isLabel = (label: string): boolean => !label.startsWith('xn--') || URL.canParse(`https://\u00fc.${label}`);
