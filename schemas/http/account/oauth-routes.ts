import { z } from 'zod';
import { isoTime } from '../../values.ts';
import { route } from '../route.ts';
import { session } from './session.ts';

export const oauthProvider = z.enum(['oauth-a', 'oauth-b', 'oauth-c']);
export type OAuthProvider = z.infer<typeof oauthProvider>;

/** A login that goes on at another site. */
export const startedLogin = z.object({
  url: z.string().describe('where the person logs in'),
  state: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/)
    .describe('comes back with the code; only who started the login completes it'),
  expiresAt: isoTime,
});
export type StartedLogin = z.infer<typeof startedLogin>;

/** Of a login that goes through another site. */
export const redirectUri = z
  .string()
  .max(2_048)
  .optional()
  .describe('where the person comes back: one that is registered with the app; default its first');

const params = z.object({ provider: z.string().max(64).describe('oauth-a, oauth-b or oauth-c') });

export const oauthRoutes = {
  startOAuthLogin: route({
    service: 'account',
    method: 'GET',
    path: '/auth/{provider}',
    summary: 'Begin a login at another site; with a bearer token, one that links',
    auth: 'app',
    rateLimit: 'login',
    params,
    query: z.object({ redirectUri }),
    status: 200,
    answer: startedLogin,
    problems: ['provider_not_found', 'forbidden', 'login_too_old'],
  }),
  logInWithOAuth: route({
    service: 'account',
    method: 'POST',
    path: '/auth/{provider}/callback',
    summary: 'Complete a login with what the other site put into the address',
    auth: 'app',
    rateLimit: 'login',
    command: true,
    identifiedBy: 'state',
    params,
    body: z.object({
      code: z.string().max(4_096).nullish(),
      state: z.string().max(64).nullish(),
      error: z.string().nullish().describe('null or empty unless the login was denied'),
      iss: z.string().max(2_048).nullish().describe('the issuer, where the address has it: it is compared then'),
    }),
    status: 201,
    answer: session,
    problems: [
      'provider_not_found',
      'state_unknown',
      'forbidden',
      'oauth_denied',
      'oauth_failed',
      'session_revoked',
      'identity_taken',
      'user_erased',
    ],
  }),
  logInWithIdToken: route({
    service: 'account',
    method: 'POST',
    path: '/auth/{provider}/token',
    summary: "Log in with an id token that a provider's own library was given in an app; with a bearer token, it links",
    auth: 'app',
    rateLimit: 'login',
    command: true,
    identifiedBy: 'idToken',
    params,
    body: z.object({
      idToken: z.string().min(1).max(16_384).describe('for the client of this service or one of its audiences; once'),
      nonce: z
        .string()
        .min(1)
        .max(1_024)
        .nullish()
        .describe('what the app gave the library: the token has it as it is, or its SHA-256 (hex or base64url)'),
    }),
    status: 201,
    answer: session,
    problems: [
      'provider_not_found',
      'oauth_failed',
      'request_replayed',
      'forbidden',
      'login_too_old',
      'session_revoked',
      'identity_taken',
      'user_erased',
    ],
  }),
};
