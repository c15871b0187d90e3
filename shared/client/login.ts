import { AnnalsError } from './annals-error.ts';
import type { CallOptions, Caller, RouteAnswer, RouteInput } from './caller.ts';
import type { KeptValues } from './client-storage.ts';
import { createCredential, getCredential } from './passkeys.ts';
import type { Session } from './routes.ts';
import type { LoginAnswer, SessionKeeper } from './session-keeper.ts';

/** A wallet of a browser. */
export interface Eip1193Provider {
  request: (call: { method: string; params?: unknown[] }) => Promise<unknown>;
}
/** An ethers wallet and a viem account are one. */
export interface WalletSigner {
  address: string;
  signMessage: ((text: string) => Promise<string>) | ((message: { message: string }) => Promise<string>);
}

export type LoginOptions = Pick<CallOptions, 'signal' | 'link'>;

/** A one-time password is on its way. */
export interface SentPassword {
  expiresAt: string;
  /** Seconds until another one may be requested. */
  resendAfter: number;
  /** Logs in with what the person has typed. */
  confirm: (otp: string, options?: LoginOptions) => Promise<Session>;
}
type MessengerProfile = Omit<RouteInput<'logInWithMessenger'>['body'], 'messengerId' | 'otp' | 'token'>;
/** Where the person goes on, and comes back from to the `redirectUri`: then call `login.callback`. */
export type StartedLogin = RouteAnswer<'startOAuthLogin'>;
interface RedirectOptions extends LoginOptions {
  /** One that is registered with the app; default its first. */
  redirectUri?: string | undefined;
}
interface KeptLogin {
  state: string;
  provider: string;
  link: boolean;
}

const BOT = 'messenger';
const BEGUN = 'logins';
/** Who gives up a login does not come back to complete it. */
const BEGUN_KEPT = 10;

/** The ways to sign in. With `link: true` each adds an identity to the user who is signed in. */
export class Login {
  constructor(
    private readonly caller: Caller,
    private readonly sessions: SessionKeeper,
    private readonly kept: KeptValues,
  ) {}

  /** @param options `chainId`: of a contract wallet */
  async wallet(
    wallet: Eip1193Provider | WalletSigner,
    { chainId, ...options }: LoginOptions & { chainId?: number | undefined } = {},
  ): Promise<Session> {
    const { address, sign } = await signerOf(wallet);
    const query = { signer: address, ...(chainId !== undefined && { chainId }) };
    const { message, nonce } = await this.caller.call('walletChallenge', { query, signal: options.signal });
    const body = { signer: address, signature: await sign(message), nonce };
    return this.begin(await this.caller.call('logInWithWallet', { body, ...options }));
  }

  async email(email: string, { signal }: LoginOptions = {}): Promise<SentPassword> {
    const { token, expiresAt, resendAfter } = await this.caller.call('requestEmailPassword', {
      body: { email },
      signal,
    });
    const confirm = async (otp: string, options: LoginOptions = {}) =>
      this.begin(await this.caller.call('logInWithEmail', { body: { email, otp, token }, ...options }));
    return { expiresAt, resendAfter, confirm };
  }

  /** @param messengerId the id of a user of the messenger; `confirm` also takes what fills empty members of the profile */
  async messenger(
    messengerId: string,
    { signal, profile = {} }: LoginOptions & { profile?: MessengerProfile } = {},
  ): Promise<SentPassword> {
    const asked = await this.caller.call('requestMessengerPassword', { body: { messengerId }, signal });
    const { token, expiresAt, resendAfter } = asked;
    const confirm = async (otp: string, options: LoginOptions = {}) => {
      const body = { ...profile, messengerId, otp, token };
      return this.begin(await this.caller.call('logInWithMessenger', { body, ...options }));
    };
    return { expiresAt, resendAfter, confirm };
  }

  /** Begins a login at an OAuth provider: send the person to `url`. */
  async oauth(provider: string, { redirectUri, ...options }: RedirectOptions = {}): Promise<StartedLogin> {
    const input = { params: { provider }, query: { redirectUri }, ...options };
    return this.keepState(provider, options, await this.caller.call('startOAuthLogin', input));
  }

  /** Begins a login through the messenger's bot: send the person to `url`. */
  async bot({ redirectUri, ...options }: RedirectOptions = {}): Promise<StartedLogin> {
    const started = await this.caller.call('startBotLogin', { query: { redirectUri }, ...options });
    return this.keepState(BOT, options, started);
  }

  /** Completes what `oauth` or `bot` began. @param address at which the person came back, `location.href` in a page */
  async callback(address: string | URL, { signal }: LoginOptions = {}): Promise<Session> {
    const given = Object.fromEntries(new URL(address).searchParams);
    const { state = '', code = '', error, iss } = given;
    const logins = await this.begun();
    const begun = logins.find((login) => login.state === state);
    if (!begun) throw new AnnalsError('state_unknown', 'this login was not begun here, or was completed');
    const { provider, link } = begun;
    await this.kept.set(
      BEGUN,
      logins.filter((login) => login !== begun),
    );
    const options = { signal, link };
    const answer =
      provider === BOT
        ? await this.caller.call('logInWithBot', { body: { state, code }, ...options })
        : await this.caller.call('logInWithOAuth', {
            params: { provider },
            body: { state, code, error, iss },
            ...options,
          });
    return this.begin(answer);
  }

  /** Logs in with a passkey; with `register`, makes one: for a new user, or with `link` for the one who is signed in. */
  async passkey({ register = false, ...options }: LoginOptions & { register?: boolean } = {}): Promise<Session> {
    if (register || options.link === true) {
      const { state, options: creation } = await this.caller.call('askToRegisterPasskey', options);
      const credential = await createCredential(creation, options);
      return this.begin(await this.caller.call('registerPasskey', { body: { state, credential }, ...options }));
    }
    const { state, options: asking } = await this.caller.call('askForPasskey', options);
    const credential = await getCredential(asking, options);
    return this.begin(await this.caller.call('logInWithPasskey', { body: { state, credential }, ...options }));
  }

  /** Logs in with the token that a provider's own library gave. */
  async idToken(
    provider: string,
    idToken: string,
    { nonce, ...options }: LoginOptions & { nonce?: string | undefined } = {},
  ): Promise<Session> {
    const body = { idToken, nonce };
    return this.begin(await this.caller.call('logInWithIdToken', { params: { provider }, body, ...options }));
  }

  /** Logs the app in as itself; `signRequest` signs by its server key, at a server. */
  async app({ signal }: Pick<CallOptions, 'signal'> = {}): Promise<void> {
    await this.sessions.begin(await this.caller.call('issueAppToken', { signal }));
  }

  private async begin<Answer extends LoginAnswer>(answer: Answer): Promise<Answer> {
    await this.sessions.begin(answer);
    return answer;
  }

  private async keepState(provider: string, { link = false }: LoginOptions, started: StartedLogin) {
    const login: KeptLogin = { state: started.state, provider, link };
    await this.kept.set(BEGUN, [...(await this.begun()), login].slice(-BEGUN_KEPT));
    return started;
  }

  private async begun(): Promise<KeptLogin[]> {
    return (await this.kept.get<KeptLogin[]>(BEGUN)) ?? [];
  }
}

const signerOf = async (wallet: Eip1193Provider | WalletSigner) => {
  if (!('request' in wallet)) return { address: wallet.address, sign: (text: string) => signMessage(wallet, text) };
  const [address] = (await wallet.request({ method: 'eth_requestAccounts' })) as string[];
  if (address === undefined) throw new AnnalsError('wallet_signature_invalid', 'the wallet shows no account');
  const sign = async (text: string) => {
    const bytes = [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0'));
    return (await wallet.request({ method: 'personal_sign', params: [`0x${bytes.join('')}`, address] })) as string;
  };
  return { address, sign };
};

/** viem's accounts take an object, and say of which kind they are. */
const signMessage = (wallet: WalletSigner, text: string): Promise<string> => {
  const sign = wallet.signMessage.bind(wallet) as (message: unknown) => Promise<string>;
  return sign('type' in wallet && 'source' in wallet ? { message: text } : text);
};
