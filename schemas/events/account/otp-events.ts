import { z } from 'zod';
import { isoTime } from '../../values.ts';
import { event, type EventOf, type Held } from '../event.ts';

const requestedPassword: Held = {
  purpose: 'to verify a one-time password once, and to limit how many are sent and guessed',
  retention: 'the newest 4,096 events of an address; they name neither the address nor a user',
};

/**
 * Stream `otp-<identityId>`: the one-time passwords of an identity at all apps, so that one append decides what is counted.
 * It belongs to no user, and is not erased with one: it names neither address nor password.
 */
export const otpEvents = {
  OtpIssued: event(
    2,
    z.object({
      otpId: z.string(),
      appId: z.string(),
      /** Salted, memory-hard and under a key: `$argon2id$…`. */
      passwordHash: z.string(),
      /** Where the address that it was sent to has capital letters, in ascending order. */
      capitals: z.array(z.int().nonnegative()),
      /** Whether a password was verified before: then the address is the one as first given. */
      isKnown: z.boolean(),
      /** Apps at which a password was verified before, the newest last. */
      verifiedApps: z.array(z.string()).exactOptional(),
      /** Since version 2: all apps together had requested too many, so no message was sent. */
      isSent: z.literal(false).exactOptional(),
      expiresAt: isoTime,
    }),
    { held: requestedPassword },
  ),
  /** No server took the message: it does not count as a request. */
  OtpNotSent: event(1, z.object({ otpId: z.string() })),
  /** Appended before the guess is evaluated, so it counts as a failure until `OtpVerified`. */
  OtpGuessed: event(
    1,
    z.object({
      otpId: z.string(),
      /** Whether the token came with it that the request was answered with. */
      withToken: z.literal(true).exactOptional(),
    }),
  ),
  /** The guess was right: the password is redeemed. */
  OtpVerified: event(
    1,
    z.object({
      otpId: z.string(),
      sessionId: z.string(),
      /** The user to whom the identity is linked; absent of a plain login. */
      linkTo: z.string().exactOptional(),
    }),
  ),
  /** Too many guesses in a row at an app. Appended with the last one of them, and void if that is verified after all. */
  OtpLocked: event(
    1,
    z.object({
      appId: z.string(),
      until: isoTime,
    }),
  ),
};
export type OtpEvent = EventOf<typeof otpEvents>;
