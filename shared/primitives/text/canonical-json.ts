import canonicalize from 'canonicalize';
import { sha256 } from '../ids.ts';

/** More deeply nested values are left to the library, which needs no call for each level. */
const LEVELS_MAX = 64;
/** Node's own `JSON.stringify` writes these members in another order, or not at all. */
const OTHER_MEMBER = /^(\d|__proto__$)/;
/** Half a surrogate pair, for which RFC 8785 has no form, or a text that has these characters. */
const MAY_BE_HALF_A_PAIR = '\\ud';
const NOT_SORTED = Symbol('not sorted');

/**
 * Returns the JSON text of RFC 8785, which is the same for equal values. Its numbers and strings are those of ECMAScript, so
 * that Node's own `JSON.stringify` writes nearly all values once their members are sorted, in a third of the library's time.
 * @throws for values that JSON cannot express
 */
export const canonicalJson = (value: object): string => {
  const sorted = withSortedMembers(value, LEVELS_MAX);
  const written = sorted === NOT_SORTED ? undefined : JSON.stringify(sorted);
  const text = written === undefined || written.includes(MAY_BE_HALF_A_PAIR) ? canonicalize(value) : written;
  if (text === undefined) throw new Error('this value has no JSON text');
  return text;
};

/** The digest that is stored with an event of a history: SHA-256 of `salt` followed by the RFC 8785 form of `data`. */
export const digestOf = (salt: string, data: object): string => sha256(salt + canonicalJson(data));

/** Returns `NOT_SORTED` for what only the library writes, or refuses, as RFC 8785 says. */
const withSortedMembers = (value: unknown, levels: number): unknown => {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : NOT_SORTED;
  if (typeof value !== 'object' || levels === 0) return NOT_SORTED;
  if (Array.isArray(value)) {
    const items: unknown[] = value.map((item) => withSortedMembers(item, levels - 1));
    return items.includes(NOT_SORTED) ? NOT_SORTED : items;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return NOT_SORTED;
  const members = value as Record<string, unknown>;
  const sorted: Record<string, unknown> = {};
  for (const name of Object.keys(members).sort()) {
    const member = withSortedMembers(members[name], levels - 1);
    if (member === NOT_SORTED || OTHER_MEMBER.test(name)) return NOT_SORTED;
    sorted[name] = member;
  }
  return sorted;
};
