import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../../../schemas/json.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { collections } from '../../../../shared/read-models/catalogue.ts';
import { chainEventsModel } from '../../../../shared/read-models/event-catcher/chain-events.ts';
import { SqliteReadStore } from '../../../../shared/read-store/embedded/read-store.sqlite.ts';
import { call, signIn, type SignedIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { RELAY_CHECKPOINT } from '../../../relay/publish-events/checkpoint.ts';
import { registerTransfer } from '../../end-to-end/register-transfer.ts';
import type { Erc20Chain, Seen } from './erc20-chain.ts';
import { latencyOf, measure, type Report } from '../measure.ts';
import { processorMs, residentMb } from '../processor-time.ts';
import { EMITTING_CONTRACT } from './transfers.ts';

const POLL_MS = 20;
const HEADS = 100;
const HEAD_POLL_MS = 2;
/**
 * Varies the time of blocks relative to the polls of the head: each block comes this much later than the one before, up
 * to twice that.
 */
const HEADS_APART_MS = 150;
/** A new block takes longer only if it is lost. */
const HEAD_WITHIN_MS = 30_000;
/** Number of parts of a backfill whose memory is reported separately. */
const PARTS = 5;

/** Speed of the backfill; `msEach` of processor time, 0 if the system does not report it. */
export interface Caught {
  perSecond: number;
  msEach: number;
}

interface Subject {
  program: RunningProgram;
  user: SignedIn;
  chain: Erc20Chain;
  events: number;
  /** The data folder. */
  folder: string;
}

/**
 * Measures all of Annals in one process, embedded, from the registration until every transfer is in the read model and
 * published; and then, if `heads` is set, how long a new block takes to appear in a query.
 */
export const catchByAnnals = async (
  what: string,
  { chain, events, folder, heads }: { chain: Erc20Chain; events: number; folder: string; heads: boolean },
  report: Report,
): Promise<Caught> => {
  const CHAINS = JSON.stringify([{ chainId: 2484, rpcUrls: [chain.url], confirmations: 12 }]);
  const program = await RunningProgram.start(folder, { CHAINS });
  try {
    const subject = { program, user: await signIn(program.development), chain, events, folder };
    const caught = await backfill(what, subject, report);
    if (heads) await followHeads(what, subject, report);
    return caught;
  } finally {
    await program.stop();
    report({ what: `${what}: on disk`, bytesEach: Math.round(bytesIn(folder) / events) });
  }
};

const backfill = async (what: string, subject: Subject, report: Report): Promise<Caught> => {
  const { program, user, chain, events, folder } = subject;
  const { pid } = program.child;
  const memory: number[][] = Array.from({ length: PARTS }, () => []);
  const before = { ours: processorMs(pid), chain: processorMs(chain.pid) };
  const readStore = new SqliteReadStore(join(folder, 'read.db'));
  try {
    await readStore.define(collections);
    const measured = await measure(what, events, async () => {
      const registered = await registerTransfer(program.development, user, EMITTING_CONTRACT);
      if (registered.status !== 201) throw new Error(`the registration answered ${JSON.stringify(registered.body)}`);
      for (;;) {
        const { count, isPublished } = await stateOf(readStore);
        memory[Math.min(PARTS - 1, Math.floor((count / events) * PARTS))]?.push(residentMb(pid));
        if (count === events && isPublished) return;
        await pause(POLL_MS);
      }
    });
    report(measured);
    const ours = processorMs(pid) - before.ours;
    if (ours > 0) report({ what, msEach: each(ours, events) });
    const chains = processorMs(chain.pid) - before.chain;
    if (chains > 0) report({ what: `${what}: the stand-in for a node`, msEach: each(chains, events) });
    const mb = memory.map((part) => Math.round(medianOf(part)));
    if (ours > 0) report({ what: `${what}: memory`, mb, mostMb: Math.round(Math.max(...memory.flat())) });
    return { perSecond: measured.perSecond, msEach: ours / events };
  } finally {
    await readStore.close();
  }
};

/** Number of records in the read model, and whether they are published. */
const stateOf = async (readStore: SqliteReadStore): Promise<{ count: number; isPublished: boolean }> => {
  const [found] = await readStore.find(chainEventsModel.collections.count.name, {});
  if (!found) return { count: 0, isPublished: false };
  const isPublished = (await readStore.position(RELAY_CHECKPOINT)) >= found.position;
  return { count: Number(found.document['canonical']), isPublished };
};

/**
 * Measures the time from the mining of a block, and from its first appearance in an answer of the chain, until a query
 * returns its records.
 */
const followHeads = async (what: string, { program, user, chain }: Subject, report: Report): Promise<void> => {
  const sinceMined: number[] = [];
  const sinceShown: number[] = [];
  for (let head = 0; head < HEADS; head += 1) {
    await pause(HEADS_APART_MS * (1 + ((head * 37) % HEADS) / HEADS));
    const minedAt = Date.now();
    const { number, transfers } = await chain.call<{ number: number; transfers: number }>('bench_mine');
    const query = `chainId=2484&contractAddress=${EMITTING_CONTRACT}&fromBlock=${String(number)}&take=${String(transfers)}`;
    const url = `${program.development.eventUrl}/api/v1/events?${query}`;
    while (itemsOf((await call(url, { headers: user.bearer })).body) < transfers) {
      if (Date.now() - minedAt > HEAD_WITHIN_MS) throw new Error(`block ${String(number)} was not queried in time`);
      await pause(HEAD_POLL_MS);
    }
    const isThereAt = Date.now();
    const { headFirstAt } = await chain.call<Seen>('bench_seen');
    sinceMined.push(isThereAt - minedAt);
    sinceShown.push(isThereAt - headFirstAt);
  }
  report(latencyOf(`${what}: a new block until it is queried`, sinceMined));
  report(latencyOf(`${what}: of that since the chain showed it`, sinceShown));
};

const itemsOf = ({ items }: JsonObject): number => {
  if (!Array.isArray(items)) throw new Error('the query was not answered with items');
  return items.length;
};

const each = (ms: number, events: number): number => Math.round((ms / events) * 10_000) / 10_000;

const medianOf = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;

const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(folder, name)))
    .reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
