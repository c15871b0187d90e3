import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Contract, type HDNodeWallet, JsonRpcProvider, Wallet } from 'ethers';
import { developmentFile, type DevelopmentFile } from '../../../schemas/development-file.ts';
import { developmentMailbox } from '../../../schemas/http/account/development-mailbox.ts';
import { type AnnalsClient, type StreamEvent } from '../../../shared/client/annals-client.ts';
import { Browser } from '../../../shared/client/browser.ts';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import { developmentClient } from '../development-client.ethers.ts';
import { Steps, type Print } from './steps.ts';

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

type Token = NonNullable<DevelopmentFile['token']>;

/**
 * Signs in, changes the profile, sends a transaction that the app pays for, registers the token's Transfer, subscribes,
 * transfers, receives the event, queries it, reads the history, signs in twice more, and makes an account to audit.
 * @returns whether every step succeeded
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
  const client = developmentClient(development);
  const { userId } = await steps.run(
    'sign in with a new wallet',
    () => client.login.wallet(wallet),
    (session) => session.userId,
  );
  await steps.run(
    'change the profile',
    () =>
      client.routes.updateProfile({
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
  await watchOneTransfer(steps, client, development, token, wallet);
  await steps.run(
    'query it',
    () => query(client, development, token, wallet.address),
    (page) => `${String(page.total)} event, block ${String(page.items[0]?.BlockNumber)}`,
  );
  await steps.run(
    'read the account history',
    () => client.routes.readHistory({ params: { id: userId } }),
    ({ items }) => items.map(({ type }) => type).join(' → '),
  );
  const email = `ada.${randomBytes(4).toString('hex')}@shop.example`;
  await steps.run(
    'sign in by email',
    () => signInByEmail(developmentClient(development), email, development),
    (session) => `${session.userId}, with what came to ${development.mailboxUrl}`,
  );
  await signInAtProvider(steps, developmentClient(development), development);
  await makeAuditable(steps, developmentClient(development));
};

/** Makes the account of docs/auditing.md, and prints what the commands there need. */
const makeAuditable = async (steps: Steps, client: AnnalsClient): Promise<void> => {
  const { userId } = await steps.run(
    'make an account to audit',
    async () => {
      const session = await client.login.wallet(Wallet.createRandom());
      const body = { firstname: 'Ada', lastname: 'Lovelace' };
      await client.routes.updateProfile({ params: { id: session.userId }, body });
      return session;
    },
    (session) => session.userId,
  );
  steps.print('\nnext  docs/auditing.md, after this line, whose token is valid for 10 minutes:');
  steps.print(`export USER_ID=${userId} TOKEN=${await client.accessToken()}`);
};

const signInByEmail = async (client: AnnalsClient, email: string, development: DevelopmentFile) => {
  const sent = await client.login.email(email);
  return sent.confirm(await passwordFor(email, development));
};

/** Sends a transaction for a user without ether, for which the app pays. */
const sendSponsored = async (
  steps: Steps,
  client: AnnalsClient,
  { chainId }: DevelopmentFile,
  to: string,
): Promise<void> => {
  const sent = await steps.run(
    'send a sponsored transaction',
    () =>
      client.routes.sendTransaction({
        body: { chainId, sponsor: true, transactionReq: { to, value: '0', data: '0x' } },
      }),
    ({ id, sender }) => `${id} of ${sender}`,
  );
  await steps.run(
    'see it in a block',
    async () => {
      const params = { chainId, hash: sent.userOpHash };
      const { status, receipt } = await client.routes.readReceipt({ params, query: { wait: 10 } });
      if (!receipt) throw new Error(`the operation is ${status}`);
      return receipt;
    },
    ({ receipt, actualGasCost }) =>
      `block ${String(Number(receipt.blockNumber))}, the paymaster paid ${String(BigInt(actualGasCost))} wei`,
  );
};

/** Logs in at the provider of `npm run openid-provider`. At any other provider only a person can log in. */
const signInAtProvider = async (steps: Steps, client: AnnalsClient, { app }: DevelopmentFile): Promise<void> => {
  const name = 'sign in at an OpenID provider';
  const { loginMethods } = await client.routes.status();
  if (!loginMethods.includes('oauth-a')) {
    steps.skipped(name, 'start "npm run openid-provider", and "npm start" as it says');
    return;
  }
  const [redirectUri = ''] = app.redirectUris;
  const person = { login: `ada.${randomBytes(4).toString('hex')}`, password: 'any' };
  await steps.run(
    name,
    async () => {
      const { url } = await client.login.oauth('oauth-a');
      return client.login.callback(await new Browser().logIn(url, person, redirectUri));
    },
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
    throw new Error(
      `${file} cannot be read: run npm start in another terminal first, or set DATA_DIR to its data folder`,
      { cause },
    );
  }
};

const register = (client: AnnalsClient, { chainId }: DevelopmentFile, token: Token) =>
  client.routes.registerContract({
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
  client: AnnalsClient,
  { chainId, rpcUrl }: DevelopmentFile,
  token: Token,
  to: HDNodeWallet,
): Promise<void> => {
  const subscribed = Promise.withResolvers<string>();
  const ending = new AbortController();
  const arrived = findChange(
    client.events({
      ...{ chainId, contractAddress: token.address, eventSignature: 'Transfer', signal: ending.signal },
      onState: ({ state }) => {
        if (state !== 'connecting') subscribed.resolve(state);
      },
    }),
    ({ event }) => event.Data['to'] === to.address,
  );
  // It is waited for later, but it may fail before.
  arrived.catch(subscribed.reject);
  await steps.run(
    'subscribe',
    () => subscribed.promise,
    (state) => `Transfer, ${state}`,
  );
  const sent = await steps.run(
    'transfer 42 tokens',
    () => transfer(rpcUrl, token, to.address),
    ({ hash }) => hash,
  );
  const timer = setTimeout(() => {
    ending.abort(new Error(`no event within ${String(EVENT_WITHIN_MS / 1_000)} s`));
  }, EVENT_WITHIN_MS);
  await steps.run(
    'see it arrive live',
    () => arrived,
    ({ event, change }) => {
      const sinceMs = Math.round(performance.now() - sent.minedAtMs);
      return `${change} in block ${String(event.BlockNumber)}, value ${JSON.stringify(event.Data['value'])}, ${String(sinceMs)} ms after the receipt`;
    },
  );
  clearTimeout(timer);
};

const findChange = async (changes: AsyncIterable<StreamEvent>, isMeant: (change: StreamEvent) => boolean) => {
  for await (const change of changes) if (isMeant(change)) return change;
  throw new Error('the subscription ended');
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
    client.routes.queryEvents({
      query: { chainId, contractAddress: token.address, eventSignature: 'Transfer', 'arg.to': to },
    });
  const until = performance.now() + EVENT_WITHIN_MS;
  let page = await ask();
  // A subscriber may receive an event before the read model has it.
  for (; page.total === 0 && performance.now() < until; page = await ask()) await pause(QUERY_AGAIN_MS);
  if (page.total !== 1) throw new Error(`the query answers ${String(page.total)} events`);
  return page;
};
