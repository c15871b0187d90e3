import { join } from 'node:path';
import { catchByAnnals } from './caught-by-annals.bench.ts';
import { startErc20Chain, type Erc20Chain } from './erc20-chain.ts';
import type { Report } from './measure.ts';

/** `CATCHER_EVENTS=5000000` shows how memory moves. */
const EVENTS = Number(process.env['CATCHER_EVENTS'] ?? 300_000);
/** Without times in logs, a block is asked for besides: that is measured on no more than this. */
const EVENTS_WITHOUT_TIMES_MAX = 300_000;

/** Measures a backfill of an ERC-20 token's history from a local stand-in for a node, 10,000 logs an answer. */
export const benchCatcher = async (folder: string, report: Report): Promise<void> => {
  await onChain(EVENTS, true, (chain) =>
    catchByAnnals('Annals', { chain, events: EVENTS, folder: join(folder, 'annals'), heads: true }, report),
  );
  const events = Math.min(EVENTS, EVENTS_WITHOUT_TIMES_MAX);
  await onChain(events, false, (chain) =>
    catchByAnnals(
      'Annals, logs without times',
      { chain, events, folder: join(folder, 'without-times'), heads: false },
      report,
    ),
  );
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
