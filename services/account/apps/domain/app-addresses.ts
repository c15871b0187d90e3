import { Refusal } from '../../../../shared/errors/refusal.ts';
import { isLoopback } from '../../../../shared/primitives/loopback.ts';

export interface AddressOptions {
  /** Whether `http` is allowed on a loopback address, where nobody outside of the machine can listen in. */
  allowLocalHttp: boolean;
}

/**
 * Lower case and punycode, as browsers send it, or IPv6. A URI cannot contain other characters, so no sign-in message
 * can name them.
 */
const HOST = /^(?:[0-9a-z._-]+|\[[0-9a-f:]+\])$/;

/** Returns an origin as browsers send it: scheme, host and port. @throws Refusal validation_failed */
export const normaliseOrigin = (text: string, options: AddressOptions): string => {
  const url = readUrl(text, 'origin', options);
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || text.includes('*')) {
    throw refusalOf('origin', text, 'is more than scheme, host and port');
  }
  if (!HOST.test(url.hostname)) throw refusalOf('origin', text, 'has a character that no host has');
  return url.origin;
};

/** @throws Refusal validation_failed */
export const checkRedirectUri = (text: string, options: AddressOptions): string => {
  if (readUrl(text, 'redirectUri', options).hash !== '') throw refusalOf('redirectUri', text, 'has a fragment');
  return text;
};

/** Returns a hostname as browsers have it. @throws Refusal validation_failed */
export const normaliseRpId = (text: string): string => {
  const hostname = URL.parse(`https://${text}`)?.hostname ?? '';
  const isHostname = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/.test(hostname) && !/\.\d+$/.test(hostname);
  if (!isHostname || hostname !== text.toLowerCase()) throw refusalOf('rpId', text, 'is not a hostname');
  return hostname;
};

const readUrl = (text: string, member: string, { allowLocalHttp }: AddressOptions): URL => {
  const url = URL.parse(text);
  if (!url) throw refusalOf(member, text, 'is not a valid URL');
  if (url.username !== '' || url.password !== '') throw refusalOf(member, text, 'has a user name');
  const isSafe = url.protocol === 'https:' || (allowLocalHttp && url.protocol === 'http:' && isLoopback(url.hostname));
  if (!isSafe)
    throw refusalOf(member, text, 'is not https: http is for this machine only (localhost), and not in production');
  return url;
};

const refusalOf = (path: string, text: string, message: string): Refusal =>
  new Refusal('validation_failed', `${path} ${text} ${message}`, { errors: [{ path, message }] });
