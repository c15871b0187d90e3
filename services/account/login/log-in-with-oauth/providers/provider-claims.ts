import type { ProfileChanges } from '../../../../../schemas/events/account/user-events.ts';
import type { ClaimPaths } from '../../../../../shared/config/oauth-settings.ts';
import { fittedProfile } from '../../../users/domain/profile.ts';
import { errorOfText, fittedText } from '../../../users/domain/visible-text.ts';
import type { ProviderIdentity } from './identity-provider.ts';
import { ProviderFault } from './provider-fault.ts';

const LABEL_CHARACTERS_MAX = 100;
/** OpenID Connect Core, section 2, has no longer ones. */
const SUBJECT_CHARACTERS_MAX = 255;

/** The claims of OpenID Connect. */
export const OPENID_CLAIMS = {
  email: 'email',
  username: 'preferred_username',
  name: 'name',
  firstname: 'given_name',
  lastname: 'family_name',
  avatar: 'picture',
} as const satisfies ClaimPaths;

interface Said {
  issuer: string;
  /** Of any type: what a provider says is not trusted to have a form. */
  subject: unknown;
  said: object;
  paths: ClaimPaths;
}

/** Returns who somebody is, whichever way it was proved. @throws ProviderFault if the subject does not identify */
export const personOf = (
  { issuer, subject, said, paths }: Said,
  { allowLocalHttp }: { allowLocalHttp: boolean },
): ProviderIdentity => {
  if (!isSubject(subject)) {
    throw new ProviderFault('subject_refused', 'its subject is empty, too long, or has characters that nobody sees');
  }
  const profile = profileOf(said, paths, allowLocalHttp);
  return { issuer, subject, label: labelOf(said, paths) ?? subject, profile };
};

/** Whether more need not be asked of a person: there is something to know the identity by, and something for the profile. */
export const isKnown = (said: object, paths: ClaimPaths): boolean =>
  labelOf(said, paths) !== undefined && Object.keys(profileOf(said, paths, true)).length > 0;

/** Returns the subject; a number only if JSON has not rounded it, because else two people could be one. */
export const subjectAt = (said: object, path: string): unknown => {
  const subject = memberAt(said, path);
  return Number.isSafeInteger(subject) ? String(subject) : subject;
};

/** Two people never have the same one: it is not empty, and nothing in it can be overlooked. */
const isSubject = (subject: unknown): subject is string =>
  typeof subject === 'string' &&
  Array.from(subject).length <= SUBJECT_CHARACTERS_MAX &&
  subject === subject.trim() &&
  errorOfText(subject) === undefined;

/** Returns how a person knows the identity: the first of address, user name and name that is there. */
const labelOf = (said: object, { email, username, name }: ClaimPaths): string | undefined => {
  for (const path of [email, username, name]) {
    const label = path === undefined ? undefined : memberAt(said, path);
    const fitted = typeof label === 'string' ? fittedText(label, LABEL_CHARACTERS_MAX) : undefined;
    if (fitted !== undefined) return fitted;
  }
  return undefined;
};

const profileOf = (
  said: object,
  { username, firstname, lastname, avatar }: ClaimPaths,
  allowLocalHttp: boolean,
): ProfileChanges => {
  const at = (path: string | undefined) => (path === undefined ? undefined : memberAt(said, path));
  const theirs = { username: at(username), firstname: at(firstname), lastname: at(lastname), avatar: at(avatar) };
  const { username: name, ...rest } = fittedProfile(theirs, { allowLocalHttp });
  // At some providers it is the address, and everybody sees the user name.
  return name === undefined || name.includes('@') ? rest : { username: name, ...rest };
};

const memberAt = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((inner, name) => {
    const isObject = typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name);
    return isObject ? (inner as Record<string, unknown>)[name] : undefined;
  }, value);
