import { messengerUserText } from '../../../schemas/http/app-signature.ts';
import { messengerRoutes } from '../../../schemas/http/account/messenger-routes.ts';
import type { StartedLogin } from '../../../schemas/http/account/oauth-routes.ts';
import { safeParse } from '../../../shared/primitives/text/safe-parse.ts';
import { REDIRECT_URI, type AccountUnderFuzzing } from './account-under-fuzzing.ts';
import type { Valid } from './fuzz-request.ts';
import { messageTo, type LoginRequests, type Succeed } from './logins-here-requests.ts';

let made = 0;
const another = () => (made += 1);

const starting =
  ({ byApp: caller }: AccountUnderFuzzing, succeed: Succeed) =>
  async (route: string, valid: Valid) =>
    (await succeed(route, { caller, ...valid })) as StartedLogin;

export const botRequests: LoginRequests = (account, succeed) => {
  const { byApp: caller, bot } = account;
  const started = starting(account, succeed);
  const startedWithBot = () => started('startBotLogin', { query: { redirectUri: REDIRECT_URI } });
  const opening = (state: string, id: number): Valid => ({
    headers: { 'x-telegram-bot-api-secret-token': bot.settings.MESSENGER_WEBHOOK_SECRET },
    body: { message: { text: `/start ${state}`, chat: { type: 'private' }, from: { id, is_bot: false } } },
  });
  return {
    startBotLogin: { next: () => Promise.resolve({ caller, query: { redirectUri: REDIRECT_URI } }) },
    hearBot: { next: async () => opening((await startedWithBot()).state, 3_000_000 + another()) },
    logInWithBot: {
      once: true,
      next: async () => {
        const { state } = await startedWithBot();
        const id = 4_000_000 + another();
        await succeed('hearBot', opening(state, id));
        const { button } = await messageTo(account, String(id));
        const code = new URL(button?.url ?? '').searchParams.get('code');
        return { caller, body: { state, code } };
      },
    },
  };
};

export const messengerUserRequests: LoginRequests = (account) => ({
  logInMessengerUser: {
    once: true,
    next: () => Promise.resolve(messengerUserLogin(account, String(5_000_000 + another()))),
  },
});

export const oauthRequests: LoginRequests = (account, succeed) => {
  const { byApp: caller, providers } = account;
  const started = starting(account, succeed);
  const someProvider = () => (another() % 2 === 0 ? 'oauth-a' : 'oauth-b');
  return {
    startOAuthLogin: { next: () => Promise.resolve({ caller, params: { provider: someProvider() } }) },
    logInWithOAuth: {
      once: true,
      next: async () => {
        const provider = someProvider();
        const { url, state } = await started('startOAuthLogin', { params: { provider } });
        return { caller, params: { provider }, body: { state, code: providers[provider].codeFor(url) } };
      },
    },
    logInWithIdToken: {
      once: true,
      next: async () => {
        const nonce = `nonce-${String(another())}`;
        const idToken = await providers['oauth-a'].idToken(nonce);
        return { caller, params: { provider: 'oauth-a' }, body: { idToken, nonce } };
      },
    },
  };
};

const unsigned = messengerRoutes.logInMessengerUser.body.omit({ sig: true });
let signedLogins = 0;

/** The login of a user of the messenger on the word of the app. What is changed of it is signed anew. */
export const messengerUserLogin = ({ clock, app, sign }: AccountUnderFuzzing, messengerId: string): Valid => {
  // Each signature is taken once, so no two logins have the same time.
  signedLogins += 1;
  const timestamp = clock.now() - signedLogins;
  const user = { messengerId, username: 'ada', firstname: 'Ada', lastname: 'L', domainId: 7, timestamp };
  return {
    body: { ...user, apiKey: app.apiKey },
    seal: (body) => {
      const { data } = safeParse(unsigned, body);
      const isSigned = typeof body === 'object' && body !== null && 'sig' in body;
      return data && !isSigned ? { ...(body as object), sig: sign(messengerUserText(data).toWellFormed(), app) } : body;
    },
  };
};
