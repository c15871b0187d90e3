import canonicalize from 'canonicalize';
import { sha256 } from './ids.ts';

/** The JSON text of RFC 8785, which is the same for the same value. @throws for what JSON does not have */
export const canonicalJson = (value: object): string => {
  const text = canonicalize(value);
  if (text === undefined) throw new Error('this value has no JSON text');
  return text;
};

/** The digest that is stored with an event of a history: SHA-256 of `salt` followed by the RFC 8785 form of `data`. */
export const digestOf = (salt: string, data: object): string => sha256(salt + canonicalJson(data));
