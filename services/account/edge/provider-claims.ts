import { fittedText } from '../domain/visible-text.ts';

const LABEL_CHARACTERS_MAX = 100;
const SUBJECT_CHARACTERS_MAX = 255;

/** The claims of OpenID Connect by which people know themselves, the one that says most first. */
const LABELS = { email: 'email', username: 'preferred_username', name: 'name' };
type LabelPaths = { [Member in keyof typeof LABELS]?: string | undefined };

/** Returns how a person knows the identity: the first of address, user name and name that is there. */
export const labelOf = (claims: unknown, paths: LabelPaths = LABELS): string | undefined => {
  for (const path of [paths.email, paths.username, paths.name]) {
    const label = path === undefined ? undefined : readable(memberAt(claims, path));
    if (label !== undefined) return label;
  }
  return undefined;
};

/** Returns what identifies a person; a number only if JSON has not rounded it, because else two people could be one. */
export const subjectOf = (userInfo: unknown, path: string): string | undefined => {
  const subject = memberAt(userInfo, path);
  const text = Number.isSafeInteger(subject) ? String(subject) : subject;
  return typeof text === 'string' && text !== '' && text.length <= SUBJECT_CHARACTERS_MAX ? text : undefined;
};

/** Others choose it, so it is made to fit. */
const readable = (value: unknown): string | undefined =>
  typeof value === 'string' ? fittedText(value, LABEL_CHARACTERS_MAX) : undefined;

const memberAt = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((inner, name) => {
    const isObject = typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name);
    return isObject ? (inner as Record<string, unknown>)[name] : undefined;
  }, value);
