import { hash, randomUUID } from 'node:crypto';
import { Wallet } from 'ethers';
import type { DevelopmentFile } from '../../../schemas/development-file.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { eventually } from '../eventually.ts';
import { randomWallet } from './random-wallet.ethers.ts';

const SERVED_WITHIN_MS = 60_000;

export interface Answered {
  status: number;
  headers: Headers;
  body: JsonObject;
}

interface RequestToSend {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** An independent client: only `fetch`, a signature, and the interface. */
export const call = async (
  url: string,
  { method = 'GET', body, headers = {} }: RequestToSend = {},
): Promise<Answered> => {
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: (text === '' ? {} : JSON.parse(text)) as JsonObject,
  };
};

/**
 * Like `call`, but repeats a request that is answered with 503, which a busy machine does after 5 seconds. All attempts
 * carry one `Idempotency-Key`, so a command is carried out once.
 */
export const callUntilServed = (url: string, request: RequestToSend = {}): Promise<Answered> => {
  const headers = { 'idempotency-key': randomUUID(), ...request.headers };
  return untilServed(() => call(url, { ...request, headers }));
};

/** Asks again as long as the answer is 503. What is asked must be safe to repeat. */
export const untilServed = (ask: () => Promise<Answered>): Promise<Answered> => {
  const served = async () => {
    const answered = await ask();
    return answered.status !== 503 && answered;
  };
  return eventually(served, SERVED_WITHIN_MS, 'the service must answer, however busy the machine is');
};

interface CallingApp {
  app: Pick<DevelopmentFile['app'], 'apiKey' | 'signingKey' | 'origin'>;
}

/** Returns the four headers of an app, scheme `v1`. */
export const appHeaders = ({ app }: CallingApp): Record<string, string> => {
  const timestamp = String(Date.now());
  const signature = new Wallet(app.signingKey).signMessageSync(
    `${new URL(app.origin).hostname}:${timestamp}:${app.apiKey}`.toLowerCase(),
  );
  return { 'x-signature': signature, 'x-timestamp': timestamp, origin: app.origin, 'x-api-key': app.apiKey };
};

/** Returns the four headers of an app, scheme `v2`, for a request without a body. */
export const appHeadersV2 = (
  { app }: CallingApp,
  { method, path }: { method: string; path: string },
): Record<string, string> => {
  const timestamp = String(Date.now());
  const text = ['v2', method, path, timestamp, app.origin, app.apiKey, hash('sha256', '')].join('\n');
  const signature = new Wallet(app.signingKey).signMessageSync(text);
  return { 'x-signature': signature, 'x-timestamp': timestamp, origin: app.origin, 'x-api-key': app.apiKey };
};

export interface SignedIn {
  userId: string;
  accessToken: string;
  refreshToken: string;
  bearer: { authorization: string };
}

type SigningWallet = Pick<ReturnType<typeof randomWallet>, 'address' | 'signMessageSync'>;
type Development = CallingApp & Pick<DevelopmentFile, 'accountUrl'>;

/** Logs a wallet in, or links it if `headers` have a bearer token. */
export const redeemChallenge = async (
  development: Development,
  wallet: SigningWallet,
  headers: Record<string, string> = {},
): Promise<Answered> => {
  const { accountUrl } = development;
  const challenge = await callUntilServed(`${accountUrl}/auth/web3/challenge?signer=${wallet.address}`, {
    headers: appHeaders(development),
  });
  const signature = wallet.signMessageSync(challenge.body['message'] as string);
  return callUntilServed(`${accountUrl}/auth/web3`, {
    method: 'POST',
    headers: { ...appHeaders(development), ...headers },
    body: { signature, signer: wallet.address },
  });
};

/** @param wallet default: a new one */
export const signIn = async (development: Development, wallet: SigningWallet = randomWallet()): Promise<SignedIn> => {
  const session = await redeemChallenge(development, wallet);
  if (session.status !== 201)
    throw new Error(`sign-in answered ${String(session.status)} ${JSON.stringify(session.body)}`);
  const { userId, accessToken, refreshToken } = session.body as Record<string, string>;
  if (!userId || !accessToken || !refreshToken) throw new Error('the session lacks a member');
  return { userId, accessToken, refreshToken, bearer: { authorization: `Bearer ${accessToken}` } };
};
