import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { catchByAnnals, type Caught } from './caught-by-annals.bench.ts';
import { startEnvio } from './envio.bench.ts';
import { startErc20Chain, type Erc20Chain, type Seen } from './erc20-chain.ts';
import type { Report } from '../measure.ts';
import type { OtherIndexer } from './other-indexer.ts';
import { startPonder } from './ponder.bench.ts';
import { startPostgres, type Postgres } from './postgres.bench.ts';
import { processorMs, processorMsWithChildren } from '../processor-time.ts';

/** `CATCHER_EVENTS=5000000` shows how memory develops. */
const EVENTS = Number(process.env['CATCHER_EVENTS'] ?? 300_000);
/** Without times in logs, each block must be requested too: measured with at most this many events. */
const EVENTS_WITHOUT_TIMES_MAX = 300_000;
/** Timeout for the other indexers. */
const OTHERS_WITHIN_MS = 300_000;
/** Rare enough that counting does not slow the other indexers down. */
const OTHERS_POLL_MS = 2_000;

/**
 * Measures a backfill of an ERC-20 token's history from a local stand-in for a node, 10,000 logs per answer; and other
 * indexers on the same history, each from its first request for logs.
 */
export const benchCatcher = async (folder: string, report: Report): Promise<void> => {
  const ours = await onChain(EVENTS, true, (chain) =>
    catchByAnnals('Annals', { chain, events: EVENTS, folder: join(folder, 'annals'), heads: true }, report),
  );
  const events = Math.min(EVENTS, EVENTS_WITHOUT_TIMES_MAX);
  const name = 'Annals, logs without times';
  await onChain(events, false, (chain) =>
    catchByAnnals(name, { chain, events, folder: join(folder, 'without-times'), heads: false }, report),
  );
  await besideOthers(ours, folder, report);
};

const besideOthers = async (ours: Caught, folder: string, report: Report): Promise<void> => {
  const postgres = await startPostgres();
  try {
    const theirs = join(folder, 'ponder');
    mkdirSync(theirs);
    const database = postgres ? `PostgreSQL ${postgres.version}` : 'PGlite';
    process.stderr.write(`Ponder stores in ${database}, with its default settings.\n`);
    await onChain(EVENTS, true, async (chain) => {
      const ponder = await startPonder(chain.url, { folder: theirs, postgres });
      await compare(ours, { other: ponder, chain, postgres }, report);
    });
    if (!postgres) {
      process.stderr.write(
        'Envio is left out: it stores in PostgreSQL, whose `initdb` is not on the PATH; install it.\n',
      );
      return;
    }
    process.stderr.write(
      `Envio stores in ${database}, asks for 150 blocks at once, and has default settings besides.\n`,
    );
    await onChain(EVENTS, true, async (chain) => {
      await compare(ours, { other: await startEnvio(chain.url, postgres), chain, postgres }, report);
    });
  } finally {
    await postgres?.stop();
  }
};

interface Other {
  other: OtherIndexer;
  chain: Erc20Chain;
  postgres: Postgres | undefined;
}

const compare = async (ours: Caught, { other, chain, postgres }: Other, report: Report): Promise<void> => {
  const { name: what } = other;
  const processorTime = () => processorMs(other.pid) + processorMsWithChildren(postgres?.pid);
  let before = processorTime();
  try {
    let caught = 0;
    let tookMs = 0;
    const endsAt = Date.now() + OTHERS_WITHIN_MS;
    while (caught < EVENTS && Date.now() < endsAt) {
      await pause(OTHERS_POLL_MS);
      caught = await other.caught();
      const { logsFirstAt } = await chain.call<Seen>('bench_seen');
      if (logsFirstAt === 0) before = processorTime();
      else tookMs = Date.now() - logsFirstAt;
    }
    if (caught === 0) throw new Error(`${what} has caught nothing`);
    const perSecond = Math.round((caught / tookMs) * 1_000);
    report({ what, perSecond, count: caught, seconds: Math.round(tookMs / 10) / 100 });
    report({ what: `Annals: times ${what}`, times: Math.round((ours.perSecond / perSecond) * 10) / 10 });
    const msEach = (processorTime() - before) / caught;
    if (msEach === 0) return;
    report({ what: `${what}, its database included`, msEach: Math.round(msEach * 10_000) / 10_000 });
    const times = Math.round((msEach / ours.msEach) * 10) / 10;
    report({ what: `${what}: times the processor time of Annals`, times });
  } finally {
    await other.stop();
  }
};

const onChain = async <Result>(
  events: number,
  timestamps: boolean,
  work: (chain: Erc20Chain) => Promise<Result>,
): Promise<Result> => {
  const chain = await startErc20Chain(events, timestamps);
  try {
    return await work(chain);
  } finally {
    await chain.stop();
  }
};
