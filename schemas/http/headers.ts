import { appSignatureExampleText } from './app-signature-example.ts';

const signatureDescription =
  'What the signing key of the app signs by EIP-191 (personal_sign): 65 bytes of hex over a text. Scheme v1: ' +
  '{hostname of origin}:{x-timestamp}:{x-api-key}, in lower case. Scheme v2, each signature once: the lines v2, method, ' +
  'path and query, x-timestamp, origin, x-api-key, SHA-256 of the raw body in lower hex, joined by \\n. ' +
  'POST /auth/app takes v2 by the server key. ' +
  `An example of v1:\n\n\`\`\`\n${appSignatureExampleText}\n\`\`\``;

/** A header of section 0 of the interface: what it may be, and what it says. */
export interface HeaderRule {
  pattern: RegExp;
  description: string;
}

/** H: who calls in the name of an app. */
export const appHeaders = {
  'x-api-key': { pattern: /^ak_[0-9a-z]{32}$/, description: 'the key of the app' },
  origin: { pattern: /^https?:\/\/[^/\s]+$/, description: 'an origin that the app allows' },
  'x-timestamp': { pattern: /^\d{1,16}$/, description: 'Unix milliseconds, within 5 minutes of now' },
  'x-signature': {
    pattern: /^0x[0-9a-fA-F]{130}$/,
    description: signatureDescription,
  },
} as const satisfies Record<string, HeaderRule>;

export const requestHeaders = {
  'x-request-id': {
    pattern: /^[A-Za-z0-9_-]{1,64}$/,
    description: 'names the request in its answer, in logs and in events; one that does not fit is replaced',
  },
  'idempotency-key': {
    pattern: /^[!-~]{1,128}$/,
    description: 'the same key and body within 24 h: the first answer again',
  },
  'x-min-position': {
    pattern: /^[A-Za-z0-9_-]+$/,
    description: 'an x-position: waits up to 2 s for the read model to reach it',
  },
} as const satisfies Record<string, HeaderRule>;

/** `Idempotency-Key` of a refresh: a secret of the client. */
export const refreshKey = {
  pattern: /^[!-~]{16,128}$/,
  description:
    'random, and stored by the client before it sends: the same key and refresh token within 24 h give the same successor ' +
    'again, as long as that was not used',
} as const satisfies HeaderRule;

export const answerHeaders = {
  'x-request-id': { pattern: requestHeaders['x-request-id'].pattern, description: 'the id of this request' },
  'x-position': {
    pattern: requestHeaders['x-min-position'].pattern,
    description: 'for x-min-position of a query that must see what this command did',
  },
  'x-as-of': {
    pattern: /^\d+$/,
    description: 'of an answer to a query with asOf: the position of the state that it shows',
  },
  RateLimit: {
    pattern: /^"\w+";r=\d+;t=\d+$/,
    description: 'the limit that counted this request, how many are left, and seconds until there are more',
  },
  'RateLimit-Policy': { pattern: /^"\w+";q=\d+;w=\d+$/, description: 'the limit: how many in so many seconds' },
  'Retry-After': { pattern: /^\d+$/, description: 'seconds' },
} as const satisfies Record<string, HeaderRule>;
