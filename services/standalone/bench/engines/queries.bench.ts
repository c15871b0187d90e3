import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { collections } from '../../../../shared/read-models/catalogue.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { SqliteReadStore } from '../../../../shared/read-store/embedded/read-store.sqlite.ts';
import { testFoundation } from '../../../../shared/testing/test-foundation.ts';
import { testIssuer } from '../../../../shared/testing/http/test-tokens.jose.ts';
import { startEventCatcher } from '../../../event-catcher/event-catcher.module.ts';
import { processorMs } from '../processor-time.ts';
import { latencyOf, measure, type Report } from '../measure.ts';
import {
  blockOf,
  BUSY_VALUE,
  busyHolder,
  fillRecords,
  queriedContract,
  queriedWatch,
  searchedMembers,
} from './queried-records.ts';

/** `QUERY_RECORDS=10000000 QUERY_FILE=/data/read.db` keeps the file, and does not fill it again. */
const RECORDS = Number(process.env['QUERY_RECORDS'] ?? 300_000);
const { QUERY_FILE } = process.env;
const QUERIES = 200;
const HOPELESS_PER_SECOND = 50;
const OTHERS_PER_SECOND = 10;
const HOPELESS_SECONDS = 20;
const ANSWERED_MAX_MS = 6_000;

type Query = Record<string, string | number>;
/** Each requests the first page of one filter. The index is that of a record. */
const filters: Record<string, (index: number) => Query> = {
  everything: () => ({}),
  'the newest first': () => ({ order: 'desc' }),
  eventSignature: () => ({ eventSignature: 'Transfer(address,address,uint256)' }),
  watchId: () => ({ watchId: queriedWatch }),
  txHash: (index) => ({ txHash: searchedMembers(index).txHash }),
  'txHash, of none': (index) => ({ txHash: searchedMembers(index + 10 * RECORDS).txHash }),
  'arg.from': (index) => ({ 'arg.from': searchedMembers(index).from }),
  'arg.value': (index) => ({ 'arg.value': searchedMembers(index).value }),
  'arg.to, of each tenth record': () => ({ 'arg.to': busyHolder }),
  'arg.from and arg.to': (index) => {
    const { from, to } = searchedMembers(index);
    return { 'arg.from': from, 'arg.to': to };
  },
  'fromBlock and toBlock': (index) => ({ fromBlock: blockOf(index), toBlock: blockOf(index) + 1_000 }),
  'arg.from in blocks': (index) => ({ 'arg.from': searchedMembers(index).from, fromBlock: blockOf(index) }),
  'status finalized': () => ({ status: 'finalized' }),
  'status observed': () => ({ status: 'observed' }),
  'status reverted': () => ({ status: 'reverted' }),
  'skip 10,000': () => ({ skip: 10_000 }),
};

/**
 * Measures queries of many records through the running routes: each filter, and other callers' queries beside hopeless
 * ones.
 */
export const benchQueries = async (folder: string, report: Report): Promise<void> => {
  const file = QUERY_FILE ?? join(folder, 'read.db');
  const isThere = existsSync(file);
  const readStore = new SqliteReadStore(file);
  await readStore.define(collections);
  if (!isThere) report(await measure('records stored, to be queried', RECORDS, () => fillRecords(readStore, RECORDS)));
  const foundation = await testFoundation({ environment: { RATE_LIMITS: 'off' } });
  const { issuer, accessToken } = await testIssuer();
  const catcher = await startEventCatcher({ ...foundation, readStore }, issuer, { chains: [] });
  const tokens = new Map<string, string>();
  const ask = async (query: Query, user: string): Promise<number> => {
    const token = tokens.get(user) ?? (await accessToken({ claims: { sub: user } }));
    tokens.set(user, token);
    const members = Object.entries({ ...queriedContract, ...query }).map(([name, value]) => [name, String(value)]);
    const from = performance.now();
    const answer = await fetch(`${catcher.url}/api/v1/events?${new URLSearchParams(members).toString()}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await answer.json();
    const tookMs = performance.now() - from;
    const isAnswered = answer.ok || (user === 'usr_hopeless' && answer.status === 503);
    if (!isAnswered || tookMs > ANSWERED_MAX_MS) throw new Error(`it answered ${String(answer.status)}`);
    return tookMs;
  };
  try {
    await ask({}, 'usr_1');
    for (const [name, filter] of Object.entries(filters)) {
      const before = processorMs(process.pid);
      report(latencyOf(name, await one(ask, filter)));
      const msEach = Math.round(((processorMs(process.pid) - before) / QUERIES) * 10) / 10;
      report({ what: `${name}, with whoever asks`, msEach });
    }
    report(latencyOf('of others, beside none', await beside(ask, 0)));
    report(latencyOf(`of others, beside ${String(HOPELESS_PER_SECOND)} hopeless queries a second`, await beside(ask)));
  } finally {
    await catcher.close();
    await readStore.close();
  }
};

type Ask = (query: Query, user: string) => Promise<number>;
const someIndex = () => Math.floor(Math.random() * RECORDS);

const one = async (ask: Ask, filter: (index: number) => Query): Promise<number[]> => {
  const tookMs: number[] = [];
  for (let at = 0; at < QUERIES; at += 1) tookMs.push(await ask(filter(someIndex()), 'usr_1'));
  return tookMs;
};

/** Returns how long other callers' queries take. */
const beside = async (ask: Ask, hopelessPerSecond = HOPELESS_PER_SECOND): Promise<number[]> => {
  // Many records match either condition, and none matches both.
  const hopeless = { 'arg.to': busyHolder, 'arg.value': BUSY_VALUE };
  const asked: Promise<number>[] = [];
  const others: Promise<number>[] = [];
  const endsAt = performance.now() + HOPELESS_SECONDS * 1_000;
  const every = async (perSecond: number, begin: () => void) => {
    while (perSecond > 0 && performance.now() < endsAt) {
      begin();
      await pause(1_000 / perSecond);
    }
  };
  const names = ['arg.from', 'txHash', 'everything', 'fromBlock and toBlock', 'arg.value'];
  await Promise.all([
    every(hopelessPerSecond, () => asked.push(ask(hopeless, 'usr_hopeless'))),
    every(OTHERS_PER_SECOND, () => {
      const filter = filters[names[others.length % names.length] ?? ''] ?? (() => ({}));
      others.push(ask(filter(someIndex()), `usr_${String(others.length % 7)}`));
    }),
  ]);
  await Promise.all(asked);
  return Promise.all(others);
};
