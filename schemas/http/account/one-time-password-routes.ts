import { z } from 'zod';
import { isoTime } from '../../values.ts';
import { profile } from './user-entity.ts';
import { route } from '../route.ts';
import { session } from './session.ts';

const account = { service: 'account' } as const;

/** The longest that mail servers take (RFC 5321). */
const ADDRESS_CHARACTERS_MAX = 254;
/** One address and nothing else: no name, no list, no comment, no space, no line break. */
const EMAIL =
  /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
const LOCAL_PART_CHARACTERS_MAX = 64;

/** The host in ASCII (IDNA), where it is not. */
const withAsciiHost = (text: string): string => {
  const at = text.lastIndexOf('@') + 1;
  const host = text.slice(at);
  if (/^\p{ASCII}*$/u.test(host) || !/^[\p{L}\p{M}\p{N}.。．｡-]+$/u.test(host)) return text;
  return text.slice(0, at) + (URL.parse(`http://${host}`)?.hostname ?? host);
};

const emailAddress = z
  .string()
  .trim()
  .overwrite(withAsciiHost)
  .max(ADDRESS_CHARACTERS_MAX)
  .regex(EMAIL, 'is not one address of email: name@host')
  .refine((text) => text.lastIndexOf('@') <= LOCAL_PART_CHARACTERS_MAX, 'has too long a name before the @')
  .describe('an address of email; the same in any letter case');
/** The id of a person. Groups have negative ids, channels names: neither is somebody who can log in. */
export const MESSENGER_ID = /^[1-9]\d{0,15}$/;
const messengerId = z
  .string()
  .trim()
  .regex(MESSENGER_ID, 'is not the id of a user of the messenger: decimal digits')
  .describe('the id of a user of the messenger');
/** Decimal digits of any script stand in Unicode in rows from 0 to 9, some of them without a gap between two. */
const asciiDigit = (digit: string): string => {
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return String((code - first) % 10);
};
const otp = z
  .string()
  .max(64)
  .overwrite((text) => text.replaceAll(/[\s\p{Pd}]/gu, '').replaceAll(/\p{Nd}/gu, asciiDigit))
  .refine((text) => /^[0-9]{6}$/.test(text), 'is not six digits')
  .describe('six decimal digits of any script; spaces and hyphens are ignored');
const token = z
  .string()
  .max(64)
  .exactOptional()
  .describe('that of the request: with it five more guesses are evaluated');

export const requestedPassword = z.object({
  sent: z.literal(true),
  expiresAt: isoTime,
  resendAfter: z.int().nonnegative().describe('seconds until another one may be requested'),
  token: z.string().describe('to send with the password, so that guesses of others do not use it up'),
});
export type RequestedPassword = z.infer<typeof requestedPassword>;

const request = {
  ...account,
  method: 'POST',
  auth: 'app',
  rateLimit: 'otpRequestIp',
  command: true,
  status: 201,
  answer: requestedPassword,
  problems: ['otp_locked', 'provider_not_found'],
} as const;

const login = {
  ...account,
  method: 'POST',
  auth: 'app',
  rateLimit: 'login',
  command: true,
  status: 201,
  answer: session,
  problems: [
    'otp_invalid',
    'otp_locked',
    'provider_not_found',
    'session_revoked',
    'forbidden',
    'login_too_old',
    'identity_taken',
    'user_erased',
  ],
} as const;

/** Passwords that are sent by email or messenger, and logins with them. */
export const oneTimePasswordRoutes = {
  requestEmailPassword: route({
    ...request,
    path: '/auth/email-otp-request',
    summary: 'Send a one-time password by email',
    identifiedBy: 'email',
    body: z.object({ email: emailAddress }),
  }),
  logInWithEmail: route({
    ...login,
    path: '/auth/email-otp-verify',
    summary: 'Log in with a one-time password that came by email',
    identifiedBy: 'email',
    body: z.object({ email: emailAddress, otp, token }),
  }),
  requestMessengerPassword: route({
    ...request,
    path: '/auth/messenger-otp-request',
    summary: 'Send a one-time password by messenger',
    identifiedBy: 'messengerId',
    body: z.object({ messengerId }),
  }),
  logInWithMessenger: route({
    ...login,
    path: '/auth/messenger-login',
    summary: 'Log in with a one-time password that came by messenger; fills empty members of the profile',
    identifiedBy: 'messengerId',
    body: z.object({
      messengerId,
      ...profile.pick({ username: true, firstname: true, lastname: true }).shape,
      avatarUrl: profile.shape.avatar,
      otp,
      token,
    }),
  }),
};
