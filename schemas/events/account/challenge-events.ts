import { z } from 'zod';
import { address, chainId, isoTime } from '../../values.ts';
import { event, type EventOf } from '../event.ts';

/**
 * Stream `challenge-<sha256 of app and signer>`: all challenges of one signer and app, so that one append decides. Each event
 * is kept until an hour after the challenge has ended.
 */
export const challengeEvents = {
  ChallengeIssued: event(
    1,
    z.object({
      nonce: z.string(),
      appId: z.string(),
      signer: address,
      origin: z.string(),
      chainId,
      issuedAt: isoTime,
      expiresAt: isoTime,
      /** What tells clients' addresses apart, and does not say them. */
      client: z.string().exactOptional(),
      /** The same of their networks: of IPv6 the /48 prefix. */
      network: z.string().exactOptional(),
    }),
  ),
  ChallengeRedeemed: event(
    1,
    z.object({
      nonce: z.string(),
      sessionId: z.string(),
      /** The user to whom the wallet is linked; absent of a plain login. */
      linkTo: z.string().exactOptional(),
      /** Who accepted the signature; absent where it is by the signer's own key. */
      by: z.literal('contract').exactOptional(),
    }),
  ),
};
export type ChallengeEvent = EventOf<typeof challengeEvents>;
