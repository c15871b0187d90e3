import type { ProfileChanges } from '../../../schemas/events/user-events.ts';
import type { FieldError } from '../../../schemas/http/problem.ts';
import { profileRules, type ProfileMember, type ProfileRule } from '../../../schemas/profile.ts';
import { invalid } from '../../../shared/errors/refusal.ts';

const members = Object.keys(profileRules) as ProfileMember[];

/**
 * A profile as it may be stored: trimmed, NFC, empty text as `null`.
 * @throws Refusal validation_failed, naming every member at fault
 */
export const readProfile = (given: ProfileChanges, { allowLocalHttp }: { allowLocalHttp: boolean }): ProfileChanges => {
  const errors: FieldError[] = [];
  const profile: ProfileChanges = {};
  for (const member of members) {
    const value = given[member];
    if (value === undefined) continue;
    const text = value?.normalize('NFC').trim() ?? '';
    const message = faultOf(profileRules[member], text, allowLocalHttp);
    if (message !== undefined) errors.push({ path: member, message });
    profile[member] = text === '' ? null : text;
  }
  if (errors.length > 0) throw invalid(...errors);
  return profile;
};

const faultOf = ({ charactersMax, isUrl }: ProfileRule, text: string, allowLocalHttp: boolean): string | undefined => {
  if (/\p{Cc}/u.test(text)) return 'has a control character';
  if (!text.isWellFormed()) return 'is not well-formed Unicode';
  if (Array.from(text).length > charactersMax) return `has more than ${String(charactersMax)} characters`;
  if (isUrl && text !== '' && !isAllowedUrl(text, allowLocalHttp)) return 'is not an https URL';
  return undefined;
};

/** What RFC 3986 has no place for, and parsers mend in ways of their own: it ends up in pages of other people. */
const NO_URL = /[\s<>"\\^`{|}]/;

const isAllowedUrl = (text: string, allowLocalHttp: boolean): boolean => {
  const url = URL.parse(text);
  if (!url || NO_URL.test(text) || !/^https?:\/\//i.test(text)) return false;
  return url.protocol === 'https:' || (allowLocalHttp && url.hostname === 'localhost');
};
