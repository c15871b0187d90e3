import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { appStream } from '../../../schemas/events/app-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { EventPage, RegisteredContract, WatchStatus } from '../../../schemas/http/event-catcher-routes.ts';
import type { TokenCaller } from '../../../shared/auth/caller.ts';
import { Projections } from '../../../shared/edge/projections.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { appsModel } from '../../../shared/read-models/apps.ts';
import { chainEventsModel } from '../../../shared/read-models/chain-events.ts';
import { chainsModel } from '../../../shared/read-models/chains.ts';
import { watchesModel } from '../../../shared/read-models/watches.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { projectInto, projectStored } from '../../../shared/testing/project.ts';
import { SeededRandom } from '../../../shared/testing/seeded-random.ts';
import { CHAIN_ID, registration, TOKEN, transferRecord } from '../../event-catcher/testing/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../../event-catcher/testing/catcher-routes.module.ts';
import { FindChannel } from '../../stream/subscriptions/find-channel.ts';
import { FINAL, QUOTAS, TenantsModel, type Fragment, type ModelledWatch, type Tenant } from './tenants-model.ts';

/** `SEED=17 ACTIONS=2000 npm test -- attacks/tenants` repeats a run, or makes a longer one. */
const SEED = Number(process.env['SEED'] ?? 1);
const ACTIONS = Number(process.env['ACTIONS'] ?? 300);
/** Of one action, on a busy machine. */
const PATIENCE_MS = 500;

const OTHER = '0x1111111111111111111111111111111111111111';
const CONTRACTS = [TOKEN, OTHER];
const SERVER_KEY = '0x2222222222222222222222222222222222222222';
/** Two apps with users, of whom one uses both; and an app of somebody else, which that one uses, too. */
const TENANTS: Tenant[] = [
  { app: 'app_1', user: null },
  { app: 'app_1', user: 'usr_1' },
  { app: 'app_1', user: 'usr_2' },
  { app: 'app_2', user: null },
  { app: 'app_2', user: 'usr_1' },
  { app: 'app_2', user: 'usr_3' },
  { app: 'app_stranger', user: 'usr_1' },
];

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
const LOGS = Array.from({ length: 20 }, (_, at) => {
  const bare = FRAGMENTS[[0, 3, 4, 0][at % 4] ?? 0]?.bare ?? '';
  return { block: 10 + at, bare, values: at % 4 === 1 ? [String(at)] : [TOKEN, OTHER, String(at)] };
});

let catcher: CatcherRoutes;
let channels: FindChannel;
const model = new TenantsModel(LOGS);
const random = new SeededRandom(SEED);
let projectedUpTo = 0;

beforeAll(async () => {
  catcher = await startCatcherRoutes({ QUOTAS: JSON.stringify(QUOTAS) });
  const { eventStore, readStore } = catcher.foundation;
  channels = new FindChannel(readStore, new Projections(readStore, eventStore));
  for (const appId of ['app_1', 'app_2']) {
    const registered = anEvent({ type: 'AppRegistered', data: { ...eventExamples.AppRegistered, appId } });
    const created = anEvent({ type: 'AppServerKeyCreated', data: { appId, signer: SERVER_KEY } });
    await eventStore.append(appStream(appId), -1, [registered, created]);
  }
  const advanced = anEvent({ type: 'ChainAdvanced', data: { ...eventExamples.ChainAdvanced, finalized: FINAL } });
  await eventStore.append(`chain-${String(CHAIN_ID)}`, -1, [advanced]);
  await projectStored(catcher.foundation, [appsModel]);
  await catcher.documents.advance({ finalized: FINAL, watchesUpTo: Number.MAX_SAFE_INTEGER, backfills: [] });
});
afterAll(() => catcher.service.close());

const draw = <T>(list: readonly T[]): T => {
  const drawn = random.pick(list);
  if (drawn === undefined) throw new Error('nothing to draw from');
  return drawn;
};

const ask = (by: Tenant, path: string, { method = 'GET', body }: { method?: string; body?: object } = {}) =>
  catcher.ask(`/api/v1/${path}`, {
    method,
    app: by.app,
    user: by.user ?? by.app,
    ...(by.user === null && { claims: { sid: undefined, amr: ['app'], server_key: SERVER_KEY } }),
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });

const project = async () => {
  const { eventStore, readStore } = catcher.foundation;
  const { events } = await eventStore.readAll(projectedUpTo, undefined, Infinity);
  await projectInto(readStore, [watchesModel, chainsModel, chainEventsModel], events);
  projectedUpTo = events.at(-1)?.position ?? projectedUpTo;
};

/** What the follower stores of a watch that begins, or begins earlier. */
const observe = async (
  { id, contract, fragment: { name, bare, names, signature } }: ModelledWatch,
  from: number,
  before: number,
) => {
  const records = LOGS.filter((log) => log.bare === bare && log.block >= from && log.block < before).map((log) =>
    transferRecord({
      ...{ WatchId: id, ContractAddress: contract, EventName: name, EventSignature: signature, BlockNumber: log.block },
      Data: Object.fromEntries(names.map((called, at) => [called, log.values[at] ?? ''])),
    }),
  );
  if (records.length > 0) await catcher.documents.observe(records, () => false);
};

interface Shown {
  status: number;
  records: string[];
}
const query = async (by: Tenant, contract: string, more: Record<string, string> = {}): Promise<Shown> => {
  const text = new URLSearchParams({ chainId: String(CHAIN_ID), contractAddress: contract, take: '100', ...more });
  const answer = await ask(by, `events?${text.toString()}`);
  if (answer.status !== 200) return { status: answer.status, records: [] };
  const { items, total } = (await answer.json()) as EventPage;
  expect(total).toBe(items.length);
  return { status: 200, records: items.map(({ BlockNumber, WatchId }) => `${String(BlockNumber)} ${WatchId}`) };
};
const shown = (contract: string, watches: readonly ModelledWatch[]): Shown =>
  model.ofContract(contract).length === 0
    ? { status: 404, records: [] }
    : { status: 200, records: model.records(watches) };

const register = async (by: Tenant): Promise<void> => {
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
  const { id, startBlock: from } = (await answer.json()) as RegisteredContract;
  const before = model.find(contract, described)?.startBlock ?? Infinity;
  model.register(by, contract, described, startBlock, id);
  const watch = model.find(contract, described);
  expect([watch?.id, watch?.startBlock]).toEqual([id, from]);
  if (watch) await observe(watch, from, before);
};

const anId = () => draw([...model.watches.map(({ id }) => id), `wch_${'0'.repeat(26)}`]);
const post = async (by: Tenant, id: string, what: string) =>
  (await ask(by, `contracts/${id}/${what}`, { method: 'POST' })).status;

/** What somebody does, and everybody may notice. */
const mutations: ((by: Tenant) => Promise<void>)[] = [
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
];

const callerOf = ({ app: appId, user }: Tenant): TokenCaller => {
  const common = { appId, sessionId: 'ses_1', expiresAtMs: Infinity };
  if (user === null) return { kind: 'app-itself', userId: appId, serverKey: SERVER_KEY, ...common };
  return { kind: 'user', userId: user, method: 'wallet', ...common };
};
const subscribe = (by: Tenant, contractAddress: string, eventSignature: string, watchId?: string): Promise<string> =>
  channels
    .find({ chainId: CHAIN_ID, contractAddress, eventSignature, watchId, finality: 'latest' }, callerOf(by))
    .then(({ channel }) => channel.watchId)
    .catch((error: unknown) => {
      if (error instanceof Refusal) return error.code;
      throw error;
    });
const channelOf = (watches: readonly ModelledWatch[]) =>
  watches.length > 1 ? 'validation_failed' : (watches[0]?.id ?? 'watch_not_found');

/** What somebody asks, which changes nothing. */
const questions: ((by: Tenant, contract: string, name: string) => Promise<void>)[] = [
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
    const found = { ...shown(contract, meant), records: model.records(meant, argument) };
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
    const { id, startBlock, state } = (await answer.json()) as WatchStatus;
    expect({ id, startBlock, isPaused: state === 'paused' }).toEqual({
      id: meant[0]?.id,
      startBlock: meant[0]?.startBlock,
      isPaused: meant[0]?.isPaused,
    });
  },
  async (by, contract, name) => {
    expect(await subscribe(by, contract, name)).toBe(channelOf(model.meant(by, contract, name)));
    const watchId = anId();
    const watch = model.byId(watchId);
    const isMeant = watch?.contract === contract && [watch.fragment.name, watch.fragment.bare].includes(name);
    expect(await subscribe(by, contract, name, watchId)).toBe(isMeant ? watchId : 'watch_not_found');
  },
];

/** What somebody sees of an event, by all ways; `undefined` where neither he nor his app claims it. */
const viewOf = async (by: Tenant, contract: string, name: string) => {
  const claimants = [by, { ...by, user: null }];
  const isClaimed = (watch: ModelledWatch) => claimants.some((one) => model.claims(watch, one));
  if (!model.meant(by, contract, name).some(isClaimed)) return undefined;
  const { records } = await query(by, contract, { eventSignature: name });
  return { records, all: (await query(by, contract)).records, channel: await subscribe(by, contract, name) };
};

/** Somebody does something, and what somebody else sees of what is his stays, but for more of its history. */
const mutate = async (by: Tenant): Promise<void> => {
  const others = TENANTS.filter((one) => one !== by && (one.app !== by.app || by.user !== null));
  const [other, contract, name] = [draw(others), draw(CONTRACTS), draw(NAMES)];
  const before = await viewOf(other, contract, name);
  await draw(mutations)(by);
  await project();
  if (!before) return;
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

describe(`tenants of one event catcher, ${String(ACTIONS)} actions of SEED=${String(SEED)}`, () => {
  it(
    'see what is theirs whatever others do, and nobody does what is not his',
    async () => {
      for (let at = 0; at < ACTIONS; at += 1) {
        const by = draw(TENANTS);
        if (random.chance(0.5)) await mutate(by);
        else await draw(questions)(by, draw(CONTRACTS), draw(NAMES));
      }
      // A run that was refused everything shows nothing.
      expect(model.watches.filter(({ claims }) => claims.length > 1).length).toBeGreaterThan(1);
    },
    30_000 + ACTIONS * PATIENCE_MS,
  );
});
