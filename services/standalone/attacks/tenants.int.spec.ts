import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { RegisteredContract } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { WatchStatus } from '../../../schemas/http/event-catcher/watched-contract.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { SeededRandom } from '../../../shared/testing/simulation/seeded-random.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { NOBODY } from '../../onchain/testing/sends-under-test.ethers.ts';
import { CHAIN_ID, registration, TOKEN, transferRecord } from '../../event-catcher/testing/routes/catcher-fixtures.ts';
import { AccountsModel } from './accounts-model.ts';
import { FINAL, QUOTAS, TenantsModel, type Fragment, type ModelledWatch } from './tenants-model.ts';
import { startTenants, type CallingTenant } from './tenants-under-test.ethers.ts';

/** `SEED=17 ACTIONS=2000 npm test -- attacks/tenants` repeats a run, or makes a longer one. */
const SEED = Number(process.env['SEED'] ?? 1);
const ACTIONS = Number(process.env['ACTIONS'] ?? 300);
/** Maximum time of one action, on a busy machine. */
const PATIENCE_MS = 1_000;
/** In a run of this many actions, every outcome occurs. */
const LONG = 1_000;
/** The outcomes of commands of the account service. */
const OUTCOMES = [
  ...['cancel 403', 'cancel 404', 'cancel 409', 'compared', 'link 201', 'link 403', 'link 409'],
  ...['send forbidden', 'send insufficient_funds', 'send sponsorship_refused', 'send taken'],
  ...['unlink 204', 'unlink 403', 'unlink 404', 'watch shared'],
];

const folder = temporaryFolder();
const OTHER = '0x1111111111111111111111111111111111111111';
const CONTRACTS = [TOKEN, OTHER];

const fragment = (name: string, ...inputs: [type: string, name: string, indexed?: boolean][]): Fragment => ({
  name,
  bare: `${name}(${inputs.map(([type]) => type).join(',')})`,
  names: inputs.map((input) => input[1]),
  signature: `${name}(${inputs.map(([type, , indexed]) => (indexed ? `${type} indexed` : type)).join(',')})`,
  abi: { type: 'event', name, inputs: inputs.map(([type, called, indexed]) => ({ type, name: called, indexed })) },
});
const FRAGMENTS = [
  fragment('Transfer', ['address', 'from', true], ['address', 'to', true], ['uint256', 'value']),
  fragment('Transfer', ['address', 'x', true], ['address', 'y', true], ['uint256', 'z']),
  fragment('Transfer', ['address', 'from', true], ['address', 'to', true], ['uint256', 'value', true]),
  fragment('Transfer', ['uint256', 'amount']),
  fragment('Approval', ['address', 'owner', true], ['address', 'spender', true], ['uint256', 'value']),
];
const NAMES = ['Transfer', 'Approval', 'Transfer(address,address,uint256)', 'Transfer(uint256)', 'Unknown'];
/** The log of a block, in both contracts. Its number is `value`, `z` and `amount`. */
const logAt = (block: number, kind: number) => {
  const number = String((block - 10) % 20);
  return { block, bare: FRAGMENTS[kind]?.bare ?? '', values: kind === 3 ? [number] : [TOKEN, OTHER, number] };
};
const LOGS = Array.from({ length: 20 }, (_, at) => logAt(10 + at, [0, 3, 4, 0][at % 4] ?? 0));

let running: Awaited<ReturnType<typeof startTenants>>;
let accounts: AccountsModel;
const model = new TenantsModel(LOGS);
const random = new SeededRandom(SEED);
/** Wallets that are linked to nobody or to a user. */
const wallets = [randomWallet(), randomWallet(), randomWallet()];
const identityIds = new Map<string, string>();
/** Number of events of each contract. */
const stored = new Map<string, number>();
const seen = new Set<string>();
/** Number of events sent to the listening socket, by tenant. */
const delivered = new Map<CallingTenant, number>();

beforeAll(async () => {
  running = await startTenants(folder, { QUOTAS: JSON.stringify(QUOTAS) });
  const { apps, tenants, users } = running;
  accounts = new AccountsModel({ thirdParty: apps.theirs.id, generous: apps.generous.id });
  for (const { address } of users) accounts.holders.set(address, address.toLowerCase());
  const progress = { finalized: FINAL, watchesUpTo: Number.MAX_SAFE_INTEGER, backfills: [] };
  const advanced = anEvent({ type: 'ChainAdvanced', data: { ...eventExamples.ChainAdvanced, ...progress } });
  await running.foundation.eventStore.append(`chain-${String(CHAIN_ID)}`, -1, [advanced]);
  // If an account is not deployed yet, its send may be signed again.
  for (const one of tenants.slice(0, 6)) await send(one, one.sending);
});
afterAll(() => running.close());

const draw = <T>(list: readonly T[]): T => {
  const drawn = random.pick(list);
  if (drawn === undefined) throw new Error('nothing to draw from');
  return drawn;
};

const ask = (by: CallingTenant, path: string, how?: Parameters<CallingTenant['ask']>[1]) =>
  by.ask(`${running.eventUrl}/api/v1/${path}`, how);
const askAccount = (by: CallingTenant, path: string, how?: Parameters<CallingTenant['ask']>[1]) =>
  by.ask(running.accountUrl + path, how);

/** Stores the events that a follower would find. */
const follow = async () => {
  const found = model.follow();
  for (const { log, watch } of found) {
    const { id, contract, fragment } = watch;
    const record = transferRecord({
      ...{ WatchId: id, ContractAddress: contract, EventName: fragment.name, EventSignature: fragment.signature },
      ...{ BlockNumber: log.block, LogIndex: CONTRACTS.indexOf(contract) },
      Data: Object.fromEntries(fragment.names.map((called, at) => [called, log.values[at] ?? ''])),
    });
    const stream = `chain-${String(CHAIN_ID)}-${contract.toLowerCase()}`;
    const count = stored.get(stream) ?? 0;
    await running.foundation.eventStore.append(stream, count - 1, [
      anEvent({ type: 'ChainEventObserved', data: record }),
    ]);
    stored.set(stream, count + 1);
  }
  return found;
};

/** Returns once every tenant has received the effects of an action, and nothing else. */
const settle = async () => {
  const { tenants, listener } = running;
  await running.caughtUp();
  for (const { by, id } of model.stopped()) await (by as CallingTenant).untilStopped(id);
  for (const watch of model.watches.filter(({ claims }) => claims.length > 0))
    if (!model.isSubscribed(listener, watch)) await subscribe(listener, watch.contract, watch.fragment.bare, watch.id);
  const found = await follow();
  await running.caughtUp();
  for (const one of [listener, ...tenants]) {
    const expected = found.filter(({ watch }) => model.isSubscribed(one, watch));
    const texts = expected.map(({ log, watch }) => `${String(log.block)} ${watch.id}`);
    expect((await one.received(texts.length)).sort()).toEqual(texts.sort());
    delivered.set(one, (delivered.get(one) ?? 0) + texts.length);
  }
};

interface Shown {
  status: number;
  records: string[];
}
const query = async (by: CallingTenant, contract: string, more: Record<string, string> = {}): Promise<Shown> => {
  const text = new URLSearchParams({ chainId: String(CHAIN_ID), contractAddress: contract, take: '1000', ...more });
  const { status, body } = await ask(by, `events?${text.toString()}`);
  if (status !== 200) return { status, records: [] };
  const items = body['items'] as { BlockNumber: number; WatchId: string }[];
  expect(body['total']).toBe(items.length);
  return { status, records: items.map(({ BlockNumber, WatchId }) => `${String(BlockNumber)} ${WatchId}`) };
};
const shown = (contract: string, watches: readonly ModelledWatch[]): Shown =>
  model.ofContract(contract).length === 0
    ? { status: 404, records: [] }
    : { status: 200, records: model.recordsOf(watches) };

const register = async (by: CallingTenant): Promise<void> => {
  const [contract, described, startBlock] = [draw(CONTRACTS), draw(FRAGMENTS), draw([10, 14, 18])];
  const body = registration({
    ...{ contractAddress: contract, eventSignature: described.signature, eventAbi: [described.abi], startBlock },
  });
  const expected = model.statusOfRegistration(by, contract, described);
  const tried = await ask(by, 'contracts?dryRun=true', { method: 'POST', body });
  expect(tried.status).toBe(expected === 403 ? 403 : 200);
  const answer = await ask(by, 'contracts', { method: 'POST', body });
  expect(answer.status).toBe(expected);
  if (expected === 403) return;
  const { id, startBlock: from } = answer.body as unknown as RegisteredContract;
  model.register(by, contract, described, startBlock, id);
  const watch = model.find(contract, described);
  expect([watch?.id, watch?.startBlock]).toEqual([id, from]);
};

const anId = () => draw([...model.watches.map(({ id }) => id), `wch_${'0'.repeat(26)}`]);
const post = async (by: CallingTenant, id: string, what: string) =>
  (await ask(by, `contracts/${id}/${what}`, { method: 'POST' })).status;

const channelOf = (watches: readonly ModelledWatch[]) =>
  watches.length > 1 ? 'validation_failed' : (watches[0]?.id ?? 'watch_not_found');
/** Subscribes permanently. */
const subscribe = async (by: CallingTenant, contractAddress: string, eventSignature: string, watchId?: string) => {
  const meant = watchId === undefined ? model.meant(by, contractAddress, eventSignature) : [model.byId(watchId)];
  const watches = meant.filter((one) => one !== undefined);
  const [watch] = watches;
  if (watchId === undefined) await by.untilMeant({ contractAddress, eventSignature }, channelOf(watches));
  const answer = await by.subscribe({ contractAddress, eventSignature, ...(watchId !== undefined && { watchId }) });
  const isThere = watches.length === 1 && model.isSubscribed(by, watch);
  expect(answer.watchId).toBe(isThere ? 'already_subscribed' : channelOf(watches));
  if (answer.id !== undefined && watch) model.subscriptions.push({ by, watch, id: answer.id });
};

const aUser = () => draw(running.users).address.toLowerCase();
/** Requests a user; only that user sees the linked wallets. */
const showUser = async (by: CallingTenant, user: string) => {
  const { status, body } = await askAccount(by, `/user/${user}`);
  expect(status).toBe(by.user === null ? 403 : 200);
  const identities = (body['identities'] ?? []) as { id: string; label: string }[];
  expect(identities.map(({ label }) => label).sort()).toEqual(by.user === user ? accounts.walletsOf(user) : []);
  for (const { id, label } of identities) identityIds.set(label, id);
};

const aSend = () => draw(accounts.sends);
const send = async (by: CallingTenant, payer: { id: string; apiKey: string } | undefined) => {
  const body = {
    ...{ chainId: CHAIN_ID, sponsor: payer !== undefined, transactionReq: { to: NOBODY } },
    ...(payer && (payer.id !== by.app || random.chance(0.5)) && { appApiKey: payer.apiKey }),
  };
  const answer = await askAccount(by, '/onchain/send', { method: 'POST', body });
  const refusal = accounts.refusalOfSend(by, payer?.id);
  expect(answer.body['code']).toBe(refusal);
  seen.add(`send ${refusal ?? 'taken'}`);
  if (refusal !== undefined || by.user === null || !payer) return;
  expect(answer.status).toBe(201);
  accounts.sends.push({ id: answer.body['id'] as string, user: by.user, app: by.app, payingApp: payer.id });
};

const link = async (by: CallingTenant) => {
  const wallet = draw([...wallets, ...running.users]);
  const status = accounts.link(by, wallet.address);
  expect((await by.link(wallet)).status).toBe(status);
  seen.add(`link ${String(status)}`);
  if (status === 201 && by.user !== null) await showUser(by, by.user);
};
const unlink = async (by: CallingTenant) => {
  const [wallet, user] = [draw(wallets), random.chance(0.7) && by.user !== null ? by.user : aUser()];
  const id = identityIds.get(wallet.address);
  if (id === undefined) return;
  const { status } = await askAccount(by, `/user/${user}/identities/${id}`, { method: 'DELETE' });
  expect(status).toBe(accounts.unlink(by, user, wallet.address));
  seen.add(`unlink ${String(status)}`);
};

/** Adds a log to both contracts. */
const happen = () => {
  LOGS.push(logAt(10 + LOGS.length, draw([0, 3, 4])));
  return Promise.resolve();
};

/** Actions that other tenants may notice. */
const mutations: ((by: CallingTenant) => Promise<void>)[] = [
  register,
  register,
  async (by) => {
    const id = anId();
    expect((await ask(by, `contracts/${id}`, { method: 'DELETE' })).status).toBe(model.remove(by, id));
  },
  async (by) => {
    const id = anId();
    expect(await post(by, id, 'pause')).toBe(model.change(by, id, true));
  },
  async (by) => {
    const id = anId();
    expect(await post(by, id, 'resume')).toBe(model.change(by, id, false));
  },
  async (by) => {
    const id = anId();
    const status = model.statusOfPower(by, id);
    expect(await post(by, id, 'replay')).toBe(status === 200 ? 202 : status);
  },
  (by) => subscribe(by, draw(CONTRACTS), draw(NAMES)),
  (by) => subscribe(by, draw(CONTRACTS), draw(NAMES)),
  (by) => subscribe(by, draw(CONTRACTS), draw(NAMES)),
  async (by) => {
    const drawn = random.pick(model.subscriptions);
    const isOwn = drawn?.by === by;
    expect(await by.unsubscribe(drawn?.id ?? 'sub_0')).toBe(isOwn ? undefined : 'subscription_not_found');
    if (isOwn) model.subscriptions = model.subscriptions.filter((one) => one !== drawn);
  },
  async (by) => {
    const others = running.tenants.filter((other) => (other.user ?? other.app) !== (by.user ?? by.app));
    expect(await by.showTokenOf(draw(others))).toBe('forbidden');
  },
  happen,
  happen,
  happen,
  happen,
  link,
  unlink,
  link,
  unlink,
  (by) => send(by, random.pick([by.sending, ...Object.values(running.apps), undefined])),
  (by) => send(by, random.pick([by.sending, ...Object.values(running.apps), undefined])),
  async (by) => {
    const sent = aSend();
    const { status } = await askAccount(by, `/onchain/transactions/${sent.id}`, { method: 'DELETE' });
    expect(status).toBe(accounts.statusOfCancel(by, sent));
    seen.add(`cancel ${String(status)}`);
  },
];
/** Requests that change nothing. */
const questions: ((by: CallingTenant, contract: string, name: string) => Promise<void>)[] = [
  async (by, contract, name) => {
    const expected = shown(contract, model.meant(by, contract, name));
    expect(await query(by, contract, { eventSignature: name })).toEqual(expected);
  },
  async (by, contract) => {
    expect(await query(by, contract)).toEqual(shown(contract, model.meantByAll(by, contract)));
  },
  async (by, contract) => {
    const watchId = anId();
    const watch = model.byId(watchId);
    const isThere = watch?.contract === contract;
    const expected = isThere ? shown(contract, [watch]) : { status: 404, records: [] };
    expect(await query(by, contract, { watchId })).toEqual(expected);
    const status = await ask(by, `contracts/${watchId}`);
    expect(status.status).toBe(watch ? 200 : 404);
  },
  async (by, contract, name) => {
    const argument = { name: draw(['value', 'z', 'amount', 'nothing']), value: String(random.between(0, 19)) };
    const meant = model.meant(by, contract, name);
    const isKnown = meant.some(({ fragment: { names } }) => names.includes(argument.name));
    const found = { ...shown(contract, meant), records: model.recordsOf(meant, argument) };
    const expected = meant.length > 0 && !isKnown ? { status: 400, records: [] } : found;
    const more = { eventSignature: name, [`arg.${argument.name}`]: argument.value };
    expect(await query(by, contract, more)).toEqual(expected);
  },
  async (by, contract, name) => {
    const path = `status/${String(CHAIN_ID)}/${contract}/${encodeURIComponent(name)}`;
    const meant = model.meant(undefined, contract, name);
    const answer = await ask(by, path);
    expect(answer.status).toBe(meant.length === 0 ? 404 : meant.length > 1 ? 400 : 200);
    if (answer.status !== 200) return;
    const { id, startBlock, state } = answer.body as unknown as WatchStatus;
    expect([id, startBlock, state === 'paused']).toEqual([meant[0]?.id, meant[0]?.startBlock, meant[0]?.isPaused]);
  },
  async (by, contract, name) => {
    const named = { contractAddress: contract, eventSignature: name };
    await by.untilMeant(named, channelOf(model.meant(by, contract, name)));
    const watchId = anId();
    const watch = model.byId(watchId);
    const isMeant = watch?.contract === contract && [watch.fragment.name, watch.fragment.bare].includes(name);
    expect(await by.meantBy({ ...named, watchId })).toBe(isMeant ? watchId : 'watch_not_found');
  },
  async (by) => {
    const { status, body } = await askAccount(by, '/onchain/transactions?take=1000');
    expect(status).toBe(by.user === null ? 403 : 200);
    const items = body['items'] as { id: string }[] | undefined;
    expect(items?.map(({ id }) => id)).toEqual(by.user === null ? undefined : accounts.sentBy(by));
    const { id } = aSend();
    const one = await askAccount(by, `/onchain/transactions/${id}`);
    expect(one.status).toBe(by.user === null ? 403 : accounts.sentBy(by).includes(id) ? 200 : 404);
  },
  async (by) => {
    const app = draw(Object.values(running.apps));
    const paid = accounts.sends.filter(({ payingApp }) => payingApp === app.id).length;
    expect([by.app, await running.paidBy(app)]).toEqual([by.app, paid]);
  },
  (by) => showUser(by, aUser()),
  async (by) => {
    const user = aUser();
    const { status, body } = await askAccount(by, `/user/${user}/history?take=1000`);
    expect(status).toBe(by.user === user ? 200 : 403);
    if (status !== 200) return;
    const through = new Set((body['items'] as { app: string }[]).map(({ app }) => app));
    if (by.sending === running.apps.theirs) expect([...through]).toEqual([by.app]);
    else expect(through).toContain(by.app);
  },
];

/** A tenant's view of an event, by all routes; `undefined` if neither the tenant nor its app claims the event. */
const viewOf = async (by: CallingTenant, contract: string, name: string) => {
  const claimants = [by, { app: by.app, user: null }];
  const isClaimed = (watch: ModelledWatch) => claimants.some((one) => model.claims(watch, one));
  const meant = model.meant(by, contract, name);
  if (!meant.some(isClaimed)) return undefined;
  const { records } = await query(by, contract, { eventSignature: name });
  return {
    records,
    all: (await query(by, contract)).records,
    channel: await by.untilMeant({ contractAddress: contract, eventSignature: name }, channelOf(meant)),
  };
};

/** A tenant acts, and another tenant's view of its own watches stays the same, except for more history. */
const mutate = async (by: CallingTenant): Promise<void> => {
  const others = running.tenants.filter((one) => one !== by && (one.app !== by.app || by.user !== null));
  const [other, contract, name] = [draw(others), draw(CONTRACTS), draw(NAMES)];
  const before = await viewOf(other, contract, name);
  await draw(mutations)(by);
  await settle();
  if (model.watches.some(({ claims }) => claims.length > 1)) seen.add('watch shared');
  if (!before) return;
  seen.add('compared');
  const after = await viewOf(other, contract, name);
  expect(after?.channel).toBe(before.channel);
  expect(after?.records).toEqual(expect.arrayContaining(before.records));
  const watchesOf = (records: readonly string[] = []) => [...new Set(records.map((record) => record.split(' ')[1]))];
  expect(watchesOf(before.records)).toEqual(
    expect.arrayContaining(before.records.length > 0 ? watchesOf(after?.records) : []),
  );
  const own = (records: readonly string[] = []) => records.filter((record) => before.records.includes(record));
  expect(own(after?.all)).toEqual(own(before.all));
};

describe(`tenants of one system, ${String(ACTIONS)} actions of SEED=${String(SEED)}`, () => {
  it(
    'see what is theirs whatever others do, and nobody does what is not his',
    async () => {
      for (let at = 0; at < ACTIONS; at += 1) {
        const by = draw(running.tenants);
        await (random.chance(0.5) ? mutate(by) : draw(questions)(by, draw(CONTRACTS), draw(NAMES)));
      }
      // A run in which everything was refused would prove nothing.
      expect(seen).toContain('compared');
      const heard = running.tenants.filter((one) => delivered.get(one)).length;
      if (ACTIONS >= LONG) expect([[...seen].sort(), heard > 3]).toEqual([OUTCOMES, true]);
    },
    30_000 + ACTIONS * PATIENCE_MS,
  );
});
