import { AnswerTooLarge, readBounded } from '../../../../../shared/primitives/read-bounded.ts';
import { ProviderFault } from './provider-fault.ts';

/** No answer that is read here has more: a discovery document and keys have some KiB. */
const ANSWER_BYTES_MAX = 256 * 1_024;
/** Names that mean this machine, or one near it. */
const NEAR = /(^|\.)(localhost|local|internal|lan|home\.arpa)$/;

/** The provider does not answer, or not now: asking again may help. */
export class ProviderAway extends Error {
  override readonly name = 'ProviderAway';
}

/**
 * Whether a provider's metadata may name this URL as an endpoint. It may be on another host than the issuer's, but only
 * with https, the default port and a public host name: otherwise a provider could have this service send requests into
 * the operator's network (SSRF).
 */
export const isOwnAddress = (url: URL, issuer: URL): boolean => {
  if (url.origin === issuer.origin) return true;
  const isName = /^([a-z\d-]+\.)+[a-z][a-z\d-]*$/.test(url.hostname) && !NEAR.test(url.hostname);
  return url.protocol === 'https:' && url.port === '' && isName;
};

/**
 * Returns a fetch that asks only what `isAllowed`, reads only so much, and follows no redirect.
 * @throws ProviderAway if there is no answer in time, or one that says that the provider cannot answer now
 */
export const providerFetch =
  (isAllowed: (url: URL) => boolean) =>
  async (address: string, options: RequestInit): Promise<Response> => {
    const url = new URL(address);
    if (!isAllowed(url)) {
      throw new ProviderFault('address_refused', 'it names an address that it may not name', { cause: url.origin });
    }
    const { status, headers, body } = await ask(url, options);
    if (status >= 500 || status === 429) throw new ProviderAway(`${url.origin} answered ${String(status)}`);
    // Nothing else is read: a challenge, which says no more than the status, would hide the provider's code.
    return new Response(body, { status, headers: { 'content-type': headers.get('content-type') ?? '' } });
  };

const ask = async (url: URL, options: RequestInit) => {
  try {
    const response = await fetch(url, { ...options, redirect: 'manual' });
    const { status, headers } = response;
    return { status, headers, body: await readBounded(response, ANSWER_BYTES_MAX) };
  } catch (cause) {
    if (cause instanceof AnswerTooLarge)
      throw new ProviderFault('answer_refused', `${url.origin} answered more than 256 KiB`, { cause });
    throw new ProviderAway(`${url.origin} does not answer`, { cause });
  }
};
