import type { CreationOptions, RequestOptions } from '../../../schemas/http/account/passkey-routes.ts';
import type { loginMethods } from '../../account/login/login-methods.module.ts';
import { ORIGIN } from '../../account/testing/account-under-test.ethers.ts';
import { SoftwareAuthenticator } from '../../account/testing/software-authenticator.ts';
import type { ValidsByRoute } from './fuzzer.ts';
import { botRequests, messengerUserRequests, oauthRequests } from './logins-elsewhere-requests.ts';
import { emailRequests, messengerRequests, walletRequests, type LoginRequests } from './logins-here-requests.ts';

interface Begun<Options> {
  state: string;
  options: Options;
}

const passkeyRequests: LoginRequests = ({ byApp: caller }, succeed) => {
  const created = async (authenticator: SoftwareAuthenticator) => {
    const { state, options } = (await succeed('askToRegisterPasskey', { caller })) as Begun<CreationOptions>;
    return { caller, body: { state, credential: authenticator.create(options) } };
  };
  return {
    askToRegisterPasskey: { next: () => Promise.resolve({ caller }) },
    registerPasskey: { once: true, next: () => created(new SoftwareAuthenticator(ORIGIN)) },
    askForPasskey: { next: () => Promise.resolve({ caller }) },
    logInWithPasskey: {
      once: true,
      next: async () => {
        const authenticator = new SoftwareAuthenticator(ORIGIN);
        await succeed('registerPasskey', await created(authenticator));
        const { state, options } = (await succeed('askForPasskey', { caller })) as Begun<RequestOptions>;
        return { caller, body: { state, credential: authenticator.get(options) } };
      },
    },
  };
};

const requestsOf: Record<keyof typeof loginMethods, LoginRequests> = {
  wallet: walletRequests,
  email: emailRequests,
  messenger: messengerRequests,
  bot: botRequests,
  messengerUser: messengerUserRequests,
  oauth: oauthRequests,
  passkey: passkeyRequests,
};

/** Logins by every method. */
export const loginRequests: LoginRequests = (account, succeed) =>
  Object.values(requestsOf).reduce<ValidsByRoute>((all, requests) => ({ ...all, ...requests(account, succeed) }), {});
