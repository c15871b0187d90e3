import type { z } from 'zod';
import { accountRoutes, type Session } from '../../schemas/http/account-routes.ts';
import { v1Text } from '../../schemas/http/app-signature.ts';
import type { RouteContract } from '../../schemas/http/route.ts';
import { systemClock, type Clock } from '../primitives/clock.ts';
import { laterPosition } from './later-position.ts';
import { refuseProblem } from './problem-error.ts';

/** Signs by EIP-191. An ethers or viem wallet is a MessageSigner. */
export interface MessageSigner {
  signMessage: (text: string) => Promise<string>;
}

export interface AnnalsClientOptions {
  accountUrl: string;
  eventUrl: string;
  /** The calling app. Its signing key is a secret of the app's own server. */
  app: { apiKey: string; origin: string; signer: MessageSigner };
  clock?: Clock;
}

type InputOf<Schema> = Schema extends z.ZodType ? z.input<Schema> : undefined;
interface Input<Contract extends RouteContract> {
  params?: InputOf<Contract['params']>;
  query?: InputOf<Contract['query']>;
  body?: InputOf<Contract['body']>;
  /** A command that is sent again with the same key is carried out once. */
  idempotencyKey?: string;
}

/** An access token that expires sooner than this is refreshed before it is used. */
const RENEW_BEFORE_MS = 30_000;

/** Calls an account service and an event catcher, typed by their route contracts. It reads its own writes. */
export class AnnalsClient {
  private session: Session | undefined;
  private renewal: Promise<Session> | undefined;
  private position: string | undefined;

  private readonly clock: Clock;

  constructor(private readonly options: AnnalsClientOptions) {
    this.clock = options.clock ?? systemClock;
  }

  /** Signs in with a wallet. Later calls are made as its user. @throws ProblemError */
  async signIn(wallet: MessageSigner & { address: string }): Promise<Session> {
    const signer = wallet.address;
    const { message, nonce } = await this.call(accountRoutes.walletChallenge, { query: { signer } });
    const signature = await wallet.signMessage(message);
    this.session = await this.call(accountRoutes.logInWithWallet, { body: { signer, signature, nonce } });
    return this.session;
  }

  /**
   * Signs in with a one-time password. Later calls are made as its user.
   * @param password returns the six digits that came by email
   * @throws ProblemError
   */
  async signInByEmail(email: string, password: () => Promise<string>): Promise<Session> {
    const { token } = await this.call(accountRoutes.requestEmailPassword, { body: { email } });
    this.session = await this.call(accountRoutes.logInWithEmail, { body: { email, token, otp: await password() } });
    return this.session;
  }

  /**
   * Signs in at one of the other sites.
   * @param browse takes a person to an address, and returns that at which the site sends the person back to the app
   * @throws ProblemError
   */
  async signInAt(provider: string, browse: (url: string) => Promise<URL>): Promise<Session> {
    const { url } = await this.call(accountRoutes.startOAuthLogin, { params: { provider } });
    const back = Object.fromEntries((await browse(url)).searchParams);
    this.session = await this.call(accountRoutes.logInWithOAuth, { params: { provider }, body: back });
    return this.session;
  }

  /** Calls a route of the interface. @throws ProblemError */
  async call<const Contract extends RouteContract>(
    contract: Contract,
    input: Input<Contract> = {},
  ): Promise<z.output<Contract['answer']>> {
    const { params, query, body, idempotencyKey } = input;
    const base = contract.service === 'account' ? this.options.accountUrl : this.options.eventUrl;
    const values = new Map(entriesOf(params));
    const path = contract.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(values.get(name) ?? ''),
    );
    const url = new URL(base + path);
    url.search = new URLSearchParams(entriesOf(query)).toString();
    const answer = await fetch(url, {
      method: contract.method,
      headers: {
        ...(await this.authentication(contract.auth)),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...(contract.method === 'GET' && this.position !== undefined && { 'x-min-position': this.position }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    // Of answers that overtake each other the one with the greatest position counts, refused ones too.
    this.position = laterPosition(this.position, answer.headers.get('x-position') ?? undefined);
    await refuseProblem(answer);
    return contract.answer.parse(contract.status === 204 ? undefined : await answer.json()) as z.output<
      Contract['answer']
    >;
  }

  /** Returns a token that remains valid for some time, for example to open a stream. */
  async accessToken(): Promise<string> {
    if (!this.session) throw new Error('sign in first');
    if (this.session.accessTokenExpire - this.clock.now() < RENEW_BEFORE_MS)
      this.session = await this.renew(this.session);
    return this.session.accessToken;
  }

  /** Refreshes the session once for all concurrent callers. */
  private renew({ refreshToken }: Session): Promise<Session> {
    this.renewal ??= this.call(accountRoutes.refreshSession, { body: { refreshToken } }).finally(() => {
      this.renewal = undefined;
    });
    return this.renewal;
  }

  private async authentication(auth: RouteContract['auth']): Promise<Record<string, string>> {
    if (auth === 'none') return {};
    if (auth === 'bearer') return { authorization: `Bearer ${await this.accessToken()}` };
    const { apiKey, origin, signer } = this.options.app;
    const timestamp = String(this.clock.now());
    const signature = await signer.signMessage(v1Text({ origin, timestamp, apiKey }));
    return { 'x-api-key': apiKey, origin, 'x-timestamp': timestamp, 'x-signature': signature };
  }
}

const entriesOf = (values: unknown): [string, string][] =>
  Object.entries(values ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, String(value)]);
