import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { Wallet } from 'ethers';
import type { DevelopmentFile } from '../../../schemas/development-file.ts';
import { v1Text } from '../../../schemas/http/app-signature.ts';

const CONNECTIONS = 64;
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Record<string, string>;
}

/** A signed-in user, with the headers of the session. */
export interface SignedIn {
  userId: string;
  headers: Record<string, string>;
  refreshToken: string;
}

export const accepted = (answer: Answer): Answer => {
  if (answer.status >= 300) throw new Error(`it answered ${String(answer.status)} ${JSON.stringify(answer.body)}`);
  return answer;
};

export const atATime = async <Item>(
  items: readonly Item[],
  work: (item: Item, at: number) => Promise<void>,
): Promise<void> => {
  const rest = items.entries();
  const one = async () => {
    for (const [at, item] of rest) await work(item, at);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
};

/** Sends a request, and reads JSON. */
export const send = async (
  url: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: object } = {},
): Promise<Answer> => {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const length = payload === undefined ? {} : { 'content-length': String(Buffer.byteLength(payload)) };
  const type = payload === undefined ? {} : { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sending = request(url, { agent, method, headers: { ...headers, ...type, ...length } }, (response) => {
      text(response).then((read) => {
        const { statusCode = 0, headers: answered } = response;
        resolve({
          status: statusCode,
          headers: answered,
          body: JSON.parse(read === '' ? '{}' : read) as Answer['body'],
        });
      }, reject);
    });
    sending.once('error', reject);
    sending.end(payload);
  });
};

/** Returns a function that signs wallets in to a running program. */
export const walletLogins = ({ accountUrl, app }: DevelopmentFile): ((wallet: Wallet) => Promise<SignedIn>) => {
  const signer = new Wallet(app.signingKey);
  let signed: { at: number; headers: Record<string, string> } | undefined;
  /** A v1 signature does not cover the request, so one signature suffices for a while. */
  const appHeaders = () => {
    if (signed && Date.now() - signed.at < 60_000) return signed.headers;
    const at = Date.now();
    const { origin, apiKey } = app;
    const signature = signer.signMessageSync(v1Text({ origin, timestamp: String(at), apiKey }));
    signed = { at, headers: { origin, 'x-api-key': apiKey, 'x-timestamp': String(at), 'x-signature': signature } };
    return signed.headers;
  };
  return async (wallet) => {
    const { address } = wallet;
    const challenge = accepted(
      await send(`${accountUrl}/auth/web3/challenge?signer=${address}`, { headers: appHeaders() }),
    );
    const signature = wallet.signMessageSync(challenge.body['message'] ?? '');
    const login = { method: 'POST', headers: appHeaders(), body: { signer: address, signature } };
    return signedInBy(accepted(await send(`${accountUrl}/auth/web3`, login)));
  };
};

export const signedInBy = ({ body: { userId = '', accessToken = '', refreshToken = '' } }: Answer): SignedIn => ({
  userId,
  headers: { authorization: `Bearer ${accessToken}` },
  refreshToken,
});
