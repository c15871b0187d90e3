import { z } from 'zod';
import { event, type EventOf } from './event.ts';

/**
 * Stream `request-<sha256 of caller and Idempotency-Key>`: two events for each request, one more for each crash or
 * temporary failure. Each event is forgotten after 25 h.
 */
export const requestEvents = {
  /** The caller that appends it carries the request out; again after 10 s without an answer, or after 24 h. */
  RequestReceived: event(
    1,
    z.object({
      /** Of method, path and body: HMAC-SHA-256 under a key of the service. Another one with the same key is refused. */
      fingerprint: z.string(),
    }),
  ),
  RequestAnswered: event(
    1,
    z.object({
      /**
       * Status, headers and body, encrypted, because they may contain tokens. `null`: a temporary failure, to be tried
       * again.
       */
      sealedAnswer: z.string().nullable(),
    }),
  ),
};
export type RequestEvent = EventOf<typeof requestEvents>;

/**
 * Stream `signature-<sha256 of the signature>`, forgotten after 25 h: an app's `v2` signature is accepted once. At the
 * gateway the hash is that of what was signed and by whom; of a provider's id token, that of what was signed, forgotten once
 * the token has expired too.
 */
export const signatureEvents = {
  SignatureUsed: event(
    1,
    z.object({
      /** At the gateway, of a wallet: the user whose it is. */
      appId: z.string(),
      /** Of a login: the session that it began. */
      sessionId: z.string().exactOptional(),
      /** Of a login that links: to which user. */
      linkTo: z.string().exactOptional(),
    }),
  ),
};
export type SignatureEvent = EventOf<typeof signatureEvents>;
