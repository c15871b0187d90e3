import { z } from 'zod';
import { anyJson } from '../../json.ts';
import { unixMs } from '../../values.ts';
import { MESSENGER_ID } from './one-time-password-routes.ts';
import { redirectUri, startedLogin } from './oauth-routes.ts';
import { route } from '../route.ts';
import { session } from './session.ts';

/** One line of what is signed. It is checked as it was signed, before anything is trimmed. */
const line = z
  .string()
  .max(256)
  .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, 'has a control character');

/** By it the messenger says that a call of the webhook is its own. */
export const WEBHOOK_SECRET = 'x-telegram-bot-api-secret-token';

/** Logins through the bot of the messenger, and on the word of an app's own bot. */
export const messengerRoutes = {
  startBotLogin: route({
    service: 'account',
    method: 'GET',
    path: '/auth/messenger',
    summary: 'Begin a login through the bot; with a bearer token, one that links',
    auth: 'app',
    rateLimit: 'login',
    query: z.object({ redirectUri }),
    status: 200,
    answer: startedLogin,
    problems: ['provider_not_found', 'forbidden', 'login_too_old'],
  }),
  logInWithBot: route({
    service: 'account',
    method: 'POST',
    path: '/auth/messenger/callback',
    summary: 'Complete a login with the code that the bot gave',
    auth: 'app',
    rateLimit: 'login',
    command: true,
    identifiedBy: 'state',
    body: z.object({ state: z.string().min(1).max(64), code: z.string().min(1).max(64) }),
    status: 201,
    answer: session,
    problems: ['provider_not_found', 'state_unknown', 'forbidden', 'session_revoked', 'identity_taken', 'user_erased'],
  }),
  hearBot: route({
    service: 'account',
    method: 'POST',
    path: '/auth/messenger/webhook',
    summary: 'What the messenger tells the bot',
    auth: 'none',
    headers: {
      [WEBHOOK_SECRET]: { pattern: /^[A-Za-z0-9_-]{1,256}$/, description: 'the secret that the webhook was set with' },
    },
    body: z.object({ message: anyJson.optional() }),
    status: 200,
    answer: z.object({}),
    problems: ['forbidden', 'provider_not_found'],
  }),
  logInMessengerUser: route({
    service: 'account',
    method: 'POST',
    path: '/auth/messenger/user',
    summary: 'Log in a user of the messenger, on the word of an app that may speak for them',
    auth: 'none',
    rateLimit: 'login',
    command: true,
    signedBody: ['apiKey', 'messengerId'],
    body: z.object({
      messengerId: z.string().regex(MESSENGER_ID, 'is not the id of a user of the messenger: decimal digits'),
      username: line.default(''),
      firstname: line.default(''),
      lastname: line.default(''),
      domainId: z.int().describe('kept with the login'),
      sig: z
        .string()
        .describe('by the signing key of the app (EIP-191), over the members before it, timestamp and apiKey'),
      timestamp: unixMs.describe('within 5 minutes of now'),
      apiKey: z.string().max(128),
    }),
    status: 201,
    answer: session,
    problems: [
      'api_key_unknown',
      'app_revoked',
      'timestamp_out_of_window',
      'signature_malformed',
      'bot_signature_invalid',
      'request_replayed',
      'forbidden',
    ],
  }),
};
