import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Contract, type HDNodeWallet, JsonRpcProvider, Wallet } from 'ethers';
import { developmentFile, type DevelopmentFile } from '../../../schemas/development-file.ts';
import { developmentMailbox } from '../../../schemas/http/development-mailbox.ts';
import { accountRoutes } from '../../../schemas/http/account-routes.ts';
import { eventCatcherRoutes } from '../../../schemas/http/event-catcher-routes.ts';
import type { StreamEvent } from '../../../schemas/socket/stream-messages.ts';
import { AnnalsClient } from '../../../shared/client/annals-client.ts';
import { Browser } from '../../../shared/client/browser.ts';
import { EventStream } from '../../../shared/client/event-stream.socketio.ts';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { pause } from '../../../shared/primitives/pause.ts';

const TRANSFER = 'Transfer(address indexed from, address indexed to, uint256 value)';
const TRANSFER_ABI = JSON.stringify([
  {
    type: 'event',
    name: 'Transfer',
    inputs: [
      { name: 'from', type: 'address', indexed: true },
      { name: 'to', type: 'address', indexed: true },
      { name: 'value', type: 'uint256', indexed: false },
    ],
  },
]);
const AMOUNT = 42n * 10n ** 18n;
const EVENT_WITHIN_MS = 10_000;
const QUERY_AGAIN_MS = 50;

type Print = (line: string) => void;
type Token = NonNullable<DevelopmentFile['token']>;

/**
 * Signs in, changes the profile, sends a transaction that the app pays for, registers the token's Transfer, subscribes, transfers, receives the event, queries it, reads
 * the history, and signs in twice more, by email and at an OpenID provider. @returns whether every step succeeded
 */
export const runDemo = async (print: Print): Promise<boolean> => {
  const steps = new Steps(print);
  try {
    await demonstrate(steps);
    return true;
  } catch (error) {
    steps.failed(error);
    return false;
  }
};

const demonstrate = async (steps: Steps): Promise<void> => {
  const development = await steps.run(
    'find the running instance',
    () => Promise.resolve(readDevelopmentFile()),
    (found) => found.accountUrl,
  );
  const { token } = development;
  if (!token)
    throw new Error('this instance has no token: the demo needs the local chain, so run npm start without CHAINS');
  const wallet = Wallet.createRandom();
  const { apiKey, origin, signingKey } = development.app;
  const options = { ...development, app: { apiKey, origin, signer: new Wallet(signingKey) } };
  const client = new AnnalsClient(options);
  const { userId } = await steps.run(
    'sign in with a new wallet',
    () => client.signIn(wallet),
    (session) => session.userId,
  );
  await steps.run(
    'change the profile',
    () =>
      client.call(accountRoutes.updateProfile, {
        params: { id: userId },
        body: { username: 'Ada', signature: 'first of her name' },
      }),
    (user) => `username ${String(user.username)}, revision ${String(user.revision)}`,
  );
  await sendSponsored(steps, client, development, wallet.address);
  await steps.run(
    "register the token's Transfer",
    () => register(client, development, token),
    (watch) => `${watch.eventSignature}, ${watch.state}`,
  );
  const stream = new EventStream(development.streamUrl, () => client.accessToken());
  try {
    await watchOneTransfer(steps, stream, development, token, wallet);
  } finally {
    stream.close();
  }
  await steps.run(
    'query it',
    () => query(client, development, token, wallet.address),
    (page) => `${String(page.total)} event, block ${String(page.items[0]?.BlockNumber)}`,
  );
  await steps.run(
    'read the account history',
    () => client.call(accountRoutes.readHistory, { params: { id: userId } }),
    ({ items }) => items.map(({ type }) => type).join(' → '),
  );
  const email = `ada.${randomBytes(4).toString('hex')}@shop.example`;
  await steps.run(
    'sign in by email',
    () => new AnnalsClient(options).signInByEmail(email, () => passwordFor(email, development)),
    (session) => `${session.userId}, with what came to ${development.mailboxUrl}`,
  );
  await signInAtProvider(steps, new AnnalsClient(options), development);
};

/** The account of somebody who has no ether does something on the chain, and the app pays. */
const sendSponsored = async (
  steps: Steps,
  client: AnnalsClient,
  { chainId }: DevelopmentFile,
  to: string,
): Promise<void> => {
  const sent = await steps.run(
    'send a sponsored transaction',
    () =>
      client.call(accountRoutes.sendTransaction, {
        body: { chainId, sponsor: true, transactionReq: { to, value: '0', data: '0x' } },
      }),
    ({ id, sender }) => `${id} of ${sender}`,
  );
  await steps.run(
    'see it in a block',
    async () => {
      const params = { chainId, hash: sent.userOpHash };
      const { status, receipt } = await client.call(accountRoutes.readReceipt, { params, query: { wait: 10 } });
      if (!receipt) throw new Error(`the operation is ${status}`);
      return receipt;
    },
    ({ receipt, actualGasCost }) =>
      `block ${String(Number(receipt.blockNumber))}, the paymaster paid ${String(BigInt(actualGasCost))} wei`,
  );
};

/** Logs in at the provider of `npm run openid-provider`; nobody but a person can at any other. */
const signInAtProvider = async (steps: Steps, client: AnnalsClient, { app }: DevelopmentFile): Promise<void> => {
  const name = 'sign in at an OpenID provider';
  const { loginMethods } = await client.call(accountRoutes.status);
  if (!loginMethods.includes('oauth-a')) {
    steps.skipped(name, 'start "npm run openid-provider", and "npm start" as it says');
    return;
  }
  const [redirectUri = ''] = app.redirectUris;
  const person = { login: `ada.${randomBytes(4).toString('hex')}`, password: 'any' };
  await steps.run(
    name,
    () => client.signInAt('oauth-a', (url) => new Browser().logIn(url, person, redirectUri)),
    (session) => `${session.userId}, ${person.login}@example.org there`,
  );
};

/** Reads the newest one-time password for an address in the development mailbox. */
const passwordFor = async (email: string, { mailboxUrl }: DevelopmentFile): Promise<string> => {
  const answer = await fetch(mailboxUrl, { headers: { accept: 'application/json' } });
  const { messages } = developmentMailbox.parse(await answer.json());
  const password = /\b\d{6}\b/.exec(messages.find(({ to }) => to === email)?.text ?? '')?.[0];
  if (password === undefined) throw new Error(`no one-time password for ${email} came to ${mailboxUrl}`);
  return password;
};

const readDevelopmentFile = (): DevelopmentFile => {
  const file = join(loadSettings(process.env).settings.DATA_DIR, 'dev.json');
  try {
    return developmentFile.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new Error(`${file} cannot be read: run npm start in another terminal first`, { cause });
  }
};

const register = (client: AnnalsClient, { chainId }: DevelopmentFile, token: Token) =>
  client.call(eventCatcherRoutes.registerContract, {
    body: {
      chainId,
      contractAddress: token.address,
      eventSignature: TRANSFER,
      eventAbi: TRANSFER_ABI,
      startBlock: token.startBlock,
    },
  });

const watchOneTransfer = async (
  steps: Steps,
  stream: EventStream,
  { chainId, rpcUrl }: DevelopmentFile,
  token: Token,
  to: HDNodeWallet,
): Promise<void> => {
  const arrived = Promise.withResolvers<StreamEvent>();
  await steps.run(
    'connect to the stream',
    () => stream.open(),
    () => 'with the access token',
  );
  const subscription = { chainId, contractAddress: token.address, eventSignature: 'Transfer' };
  const listener = {
    event: (event: StreamEvent) => {
      if (event.event.Data['to'] === to.address) arrived.resolve(event);
    },
    stopped: arrived.reject,
  };
  await steps.run(
    'subscribe',
    () => stream.subscribe(subscription, listener),
    ({ channel }) => channel,
  );
  const sent = await steps.run(
    'transfer 42 tokens',
    () => transfer(rpcUrl, token, to.address),
    ({ hash }) => hash,
  );
  const timer = setTimeout(() => {
    arrived.reject(new Error(`no event within ${String(EVENT_WITHIN_MS / 1_000)} s`));
  }, EVENT_WITHIN_MS);
  await steps.run(
    'see it arrive live',
    () => arrived.promise,
    ({ event, change }) => {
      const sinceMs = Math.round(performance.now() - sent.minedAtMs);
      return `${change} in block ${String(event.BlockNumber)}, value ${JSON.stringify(event.Data['value'])}, ${String(sinceMs)} ms after the receipt`;
    },
  );
  clearTimeout(timer);
};

const transfer = async (rpcUrl: string, token: Token, to: string) => {
  const provider = new JsonRpcProvider(rpcUrl, undefined, { cacheTimeout: -1, pollingInterval: 20 });
  try {
    const contract = new Contract(
      token.address,
      ['function transfer(address to, uint256 amount) returns (bool)'],
      new Wallet(token.ownerKey, provider),
    );
    const sent = (await contract.getFunction('transfer')(to, AMOUNT)) as { hash: string; wait: () => Promise<unknown> };
    await sent.wait();
    return { hash: sent.hash, minedAtMs: performance.now() };
  } finally {
    provider.destroy();
  }
};

const query = async (client: AnnalsClient, { chainId }: DevelopmentFile, token: Token, to: string) => {
  const ask = () =>
    client.call(eventCatcherRoutes.queryEvents, {
      query: { chainId, contractAddress: token.address, eventSignature: 'Transfer', 'arg.to': to },
    });
  const until = performance.now() + EVENT_WITHIN_MS;
  let page = await ask();
  // A subscriber may receive an event before the read model has it.
  for (; page.total === 0 && performance.now() < until; page = await ask()) await pause(QUERY_AGAIN_MS);
  if (page.total !== 1) throw new Error(`the query answers ${String(page.total)} events`);
  return page;
};

/** Runs the steps of the demo and prints each with the time that it took. */
class Steps {
  private readonly startedAt = performance.now();
  private current = '';

  constructor(private readonly print: Print) {}

  async run<Result>(name: string, work: () => Promise<Result>, shown: (result: Result) => string): Promise<Result> {
    this.current = name;
    const from = performance.now();
    const result = await work();
    this.print(`ok    ${name.padEnd(30)} ${this.since(from)}   ${shown(result)}`);
    return result;
  }

  skipped(name: string, reason: string): void {
    this.print(`skip  ${name.padEnd(30)}            ${reason}`);
  }

  failed(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.print(`FAIL  ${this.current.padEnd(30)} ${this.since(this.startedAt)}   ${reason}`);
  }

  private since(from: number): string {
    return `${(performance.now() - from).toFixed(0).padStart(5)} ms`;
  }
}
