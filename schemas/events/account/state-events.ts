import { z } from 'zod';
import { isoTime, loginMethod } from '../../values.ts';
import { event, type EventOf } from '../event.ts';

/**
 * Stream `state-<sha256 of the state>`: one login that goes through another site. It belongs to no user yet, so whatever
 * is secret or personal in it is encrypted. Each event is forgotten after an hour.
 */
export const stateEvents = {
  LoginStarted: event(
    1,
    z.object({
      method: loginMethod,
      appId: z.string(),
      origin: z.string(),
      redirectUri: z.string(),
      /** Who started it with a bearer token: the login links to that user, and only that session completes it. */
      linkTo: z.object({ userId: z.string(), sessionId: z.string() }).exactOptional(),
      /** What only this service may know of it, such as the PKCE verifier and the nonce. */
      sealedSecrets: z.string(),
      expiresAt: isoTime,
    }),
  ),
  /** Who appends it exchanges the code at the provider; again after 6 s without an outcome. */
  LoginCodeReceived: event(
    1,
    z.object({
      /** SHA-256 of the code. */
      codeHash: z.string(),
    }),
  ),
  /** The provider was away: the code can be sent again. */
  LoginCodeReturned: event(1, z.object({ codeHash: z.string() })),
  /** The messenger user who opened the bot with the state was given a code. */
  LoginCodeIssued: event(
    1,
    z.object({
      codeHash: z.string(),
      identityId: z.string(),
      /** Who it is, as the messenger says. */
      sealedLabel: z.string(),
    }),
  ),
  LoginRedeemed: event(
    1,
    z.object({
      codeHash: z.string(),
      sessionId: z.string(),
      identityId: z.string(),
      sealedLabel: z.string(),
      /** JSON of what the provider said of the person, where it said something that fits a profile. */
      sealedProfile: z.string().exactOptional(),
    }),
  ),
  /** The person or the provider refused. */
  LoginRefused: event(1, z.object({ code: z.enum(['oauth_denied', 'oauth_failed']) })),
};
export type StateEvent = EventOf<typeof stateEvents>;
