import { z } from 'zod';
import { anyJson } from '../json.ts';
import { redirectUri, startedLogin } from './oauth-routes.ts';
import { route } from './route.ts';
import { session } from './session.ts';

/** Logins through the bot of the messenger. */
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
    problems: ['provider_not_found', 'login_too_old'],
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
    problems: ['provider_not_found', 'state_unknown', 'session_revoked', 'identity_taken', 'user_erased'],
  }),
  hearBot: route({
    service: 'account',
    method: 'POST',
    path: '/auth/messenger/webhook',
    summary: 'What the messenger tells the bot; with the header x-telegram-bot-api-secret-token',
    auth: 'none',
    body: z.object({ message: anyJson.optional() }),
    status: 200,
    answer: z.object({}),
    problems: ['forbidden', 'provider_not_found'],
  }),
};
