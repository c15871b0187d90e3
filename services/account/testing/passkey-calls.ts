import type {
  CreationOptions,
  RegisteredCredential,
  RequestOptions,
  SignedCredential,
} from '../../../schemas/http/account/passkey-routes.ts';
import type { Session } from '../../../schemas/http/account/session.ts';
import type { AccountUnderTest } from './account-under-test.ethers.ts';
import { bearer, sessionOf } from './sessions.ts';
import type { SoftwareAuthenticator } from './software-authenticator.ts';

interface By {
  session?: Session | undefined;
  headers?: Record<string, string>;
}

interface Begun<Options> {
  state: string;
  options: Options;
}

/** The calls of a login with a passkey. */
export const passkeyCalls = (account: AccountUnderTest) => {
  const post = (path: string, body: object | undefined, { session, headers = account.appHeaders() }: By) =>
    account.ask(path, {
      method: 'POST',
      headers: { ...headers, ...(session && bearer(session)) },
      ...(body && { body }),
    });
  const begunBy = async (answer: Response): Promise<unknown> => {
    if (answer.status !== 201) throw new Error(`options answered ${String(answer.status)} ${await answer.text()}`);
    return answer.json();
  };
  const askToRegister = (by: By = {}) => post('/auth/passkey/register-options', undefined, by);
  const ask = (by: By = {}) => post('/auth/passkey/options', undefined, by);
  const register = (state: string, credential: RegisteredCredential, by: By = {}) =>
    post('/auth/passkey/register', { state, credential }, by);
  const logIn = (state: string, credential: SignedCredential, by: By = {}) =>
    post('/auth/passkey', { state, credential }, by);
  const creation = async (by?: By) => (await begunBy(await askToRegister(by))) as Begun<CreationOptions>;
  const request = async (by?: By) => (await begunBy(await ask(by))) as Begun<RequestOptions>;
  return {
    askToRegister,
    ask,
    register,
    logIn,
    creation,
    request,
    /** Makes a passkey: for a new user, or of a session's. */
    registered: async (authenticator: SoftwareAuthenticator, by?: By): Promise<Session> => {
      const { state, options } = await creation(by);
      return sessionOf(await register(state, authenticator.create(options), by));
    },
    loggedIn: async (authenticator: SoftwareAuthenticator, by?: By): Promise<Response> => {
      const { state, options } = await request(by);
      return logIn(state, authenticator.get(options), by);
    },
  };
};
