import { Wallet } from 'ethers';
import type { Session } from '../../../schemas/http/account/account-routes.ts';
import { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { personalDataOf } from '../../../shared/key-vault/personal-data.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import { someMetadata } from '../../../shared/testing/event-builder.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { TestClock, testFoundation } from '../../../shared/testing/test-foundation.ts';
import { createApp, type AppToRegister, type RegisteredApp } from '../apps/register-app/register-app.handler.ts';
import { appAdministration } from '../app-administration.ts';
import { startAccount } from '../account.module.ts';
import { bearer, sessionOf } from './sessions.ts';

export const ORIGIN = 'https://app.example';

/** The setting of these chains, each by its id and the URL of a node. */
export const chainsOf = (...chains: readonly (readonly [chainId: number, url: string])[]): string =>
  JSON.stringify(chains.map(([chainId, url]) => ({ chainId, rpcUrls: [url] })));

interface RequestOptions {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

type SigningWallet = Pick<Wallet, 'address' | 'signMessageSync'>;

interface LoginOptions {
  session?: Session | undefined;
  by?: RegisteredApp;
}

/** What a hash costs in production is a matter of `password-hashes.spec.ts`. */
const CHEAP = { memoryKib: 8, passes: 1 };

/** However busy the machine is, a mail server or a messenger that is there takes a message. */
const MESSAGE_WITHIN_MS = 3_600_000;
/** Time limits of login providers: longer than a busy machine needs for an answer. */
export const PROVIDER_LIMITS = { requestMs: 30_000, answerMs: 30_000, userInfoMs: 30_000 };
/** Time limit for an answer of a chain: longer than jest waits. */
const CHAIN_ANSWERS_WITHIN_MS = 3_600_000;
const UNDER_TEST = {
  passwordOptions: { cost: CHEAP, startedWithinMs: MESSAGE_WITHIN_MS },
  messageWithinMs: MESSAGE_WITHIN_MS,
  providerLimits: PROVIDER_LIMITS,
  chainAnswersWithinMs: CHAIN_ANSWERS_WITHIN_MS,
  statusWithinMs: CHAIN_ANSWERS_WITHIN_MS,
};

const signatures = new Map<string, string>();
/** Signs as an app; the same text once. */
const sign = ({ signingKey }: RegisteredApp, text: string): string => {
  const signature = signatures.get(signingKey + text) ?? new Wallet(signingKey).signMessageSync(text);
  signatures.set(signingKey + text, signature);
  return signature;
};

type Environment = Record<string, string>;
type Options = Parameters<typeof startAccount>[1] & { answerWithinMs?: number };

const asking =
  (url: string) =>
  (path: string, { method = 'GET', body, headers = {} }: RequestOptions = {}): Promise<Response> =>
    fetch(url + path, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });

/** The account service over real HTTP, with stores in memory and a clock that only moves when a spec sets it. */
export const startAccountUnderTest = async (
  dataDir: string,
  environment: Environment = {},
  { answerWithinMs, ...options }: Options = {},
) => {
  const clock = new TestClock(Date.now());
  const settings = { DATA_DIR: dataDir, RATE_LIMITS: 'off', ...environment };
  const foundation = await testFoundation({ environment: settings, clock, answerWithinMs });
  const service = await startAccount(foundation, { ...UNDER_TEST, ...options });
  foundation.processHealth.report({ account: service });
  const transactor = new Transactor(foundation.eventStore, clock, foundation.ids, personalDataOf(foundation));
  const register = (app: Partial<AppToRegister> = {}) =>
    createApp(
      transactor,
      { name: 'Example', origins: [ORIGIN], redirectUris: [], scheme: 'v1', ...app },
      { metadata: someMetadata, allowLocalHttp: true },
    );
  const app = await register();
  const apps = appAdministration(foundation);

  const ask = asking(service.url);

  /** The headers of an app by scheme `v1`; each can be replaced with a wrong one. */
  const appHeaders = (changes: Record<string, string> = {}, by: RegisteredApp = app): Record<string, string> => {
    const timestamp = changes['x-timestamp'] ?? String(clock.now());
    const origin = changes['origin'] ?? ORIGIN;
    const text = `${new URL(origin).hostname}:${timestamp}:${by.apiKey}`.toLowerCase();
    return { 'x-api-key': by.apiKey, origin, 'x-timestamp': timestamp, 'x-signature': sign(by, text), ...changes };
  };

  /** The headers of an app by scheme `v2`. */
  const appHeadersV2 = (method: string, path: string, body: unknown, by: RegisteredApp = app) => {
    const timestamp = String(clock.now());
    const hash = sha256(body === undefined ? '' : JSON.stringify(body));
    const text = ['v2', method, path, timestamp, ORIGIN, by.apiKey, hash].join('\n');
    return { 'x-api-key': by.apiKey, origin: ORIGIN, 'x-timestamp': timestamp, 'x-signature': sign(by, text) };
  };

  const challengePath = (signer: string) => `/auth/web3/challenge?signer=${signer}`;
  const challengeFor = async (signer: string, headers = appHeaders(), chainId = 2484) => {
    const answer = await ask(`${challengePath(signer)}&chainId=${String(chainId)}`, { headers });
    return (await answer.json()) as { message: string; nonce: string; expiresAt: string };
  };
  const redeem = (signer: string, signature: string, headers = appHeaders(), nonce?: string) =>
    ask('/auth/web3', { method: 'POST', headers, body: { signer, signature, nonce } });
  /** Logs in with a wallet; with a session, links the wallet to its user. */
  const logIn = async (wallet: SigningWallet, { session, by = app }: LoginOptions = {}): Promise<Session> => {
    const headers = appHeaders({}, by);
    const { message } = await challengeFor(wallet.address, headers);
    const signature = wallet.signMessageSync(message);
    return sessionOf(await redeem(wallet.address, signature, { ...headers, ...(session && bearer(session)) }));
  };
  const refresh = (refreshToken: string, headers: Record<string, string> = {}) =>
    ask('/auth/refresh', { method: 'POST', body: { refreshToken }, headers });

  return {
    foundation,
    service,
    transactor,
    clock,
    app,
    apps,
    register,
    sign: (text: string, by: RegisteredApp = app) => sign(by, text),
    ask,
    /** The types of the events in a stream. */
    typesOf: async (stream: string) => (await foundation.eventStore.read(stream)).map(({ type }) => type),
    appHeaders,
    appHeadersV2,
    challengePath,
    challengeFor,
    redeem,
    logIn,
    refresh,
    newWallet: () => randomWallet(),
    [Symbol.asyncDispose]: () => service.close(),
  };
};
export type AccountUnderTest = Awaited<ReturnType<typeof startAccountUnderTest>>;
