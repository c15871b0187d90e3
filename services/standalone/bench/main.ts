import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { runCommandLine } from '../command-line/run-command-line.ts';
import { benchBackfill } from './catcher/backfill.bench.ts';
import { benchCatcher } from './catcher/catcher.bench.ts';
import { benchDecoding } from './catcher/decoding.bench.ts';
import { benchEmbeddedStore } from './engines/embedded-store.bench.ts';
import { benchHistory } from './history/history.bench.ts';
import { benchEngines, whyNoEngines } from './engines/engines.bench.ts';
import { benchLogins } from './logins/logins.bench.ts';
import { benchOperations } from './operations/operations.bench.ts';
import { benchQueries } from './engines/queries.bench.ts';
import { benchTiming } from './logins/timing.bench.ts';
import { benchStream } from './stream/stream.bench.ts';
import { benchPromisedTimes } from './promised-times.bench.ts';
import { benchTransact } from './engines/transact.bench.ts';
import type { Figure, Report } from './measure.ts';

const benches: Record<string, (folder: string, report: Report) => Promise<void>> = {
  'embedded-store': benchEmbeddedStore,
  transact: benchTransact,
  catcher: benchCatcher,
  decoding: benchDecoding,
  logins: benchLogins,
  operations: benchOperations,
  backfill: benchBackfill,
  engines: benchEngines,
  queries: benchQueries,
  history: benchHistory,
  'promised-times': benchPromisedTimes,
  stream: benchStream,
  timing: benchTiming,
};

const run = async (names: readonly string[], json: boolean): Promise<void> => {
  const report: Report = (measured) => {
    process.stdout.write(`${json ? JSON.stringify(measured) : lineOf(measured)}\n`);
  };
  for (const name of names.length === 0 ? runnableBenches() : names) {
    const folder = mkdtempSync(join(tmpdir(), 'annals-bench-'));
    try {
      await benches[name]?.(folder, report);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
};

/** The benches that can run here; prints why the others cannot. */
const runnableBenches = (): string[] => {
  const reason = whyNoEngines();
  if (reason !== undefined) process.stderr.write(`engines is left out: ${reason}\n`);
  process.stderr.write('timing is left out: it takes half an hour, and a quiet machine; name it\n');
  return Object.keys(benches).filter((name) => name !== 'timing' && (name !== 'engines' || reason === undefined));
};

const lineOf = (measured: Figure): string => {
  const what = measured.what.padEnd(44);
  if ('aim' in measured) {
    const { value, unit, aim, isMet } = measured;
    return `${what} ${value.toLocaleString('en').padStart(10)} ${unit}   aim: ${aim}: ${isMet ? 'met' : 'NOT met'}`;
  }
  if ('msEach' in measured) return `${what} ${String(measured.msEach).padStart(10)} ms of processor time each`;
  if ('bytesEach' in measured) return `${what} ${String(measured.bytesEach).padStart(10)} bytes each`;
  if ('mb' in measured) return `${what} ${measured.mb.join(', ')} MB, at most ${String(measured.mostMb)} MB`;
  if ('tells' in measured) {
    const { t, tells, knownMs, unknownMs, count } = measured;
    const verdict = tells ? 'TELLS' : 'does not tell';
    return `${what} ${verdict}: t ${String(t)}, medians ${String(knownMs)} ms known, ${String(unknownMs)} ms unknown, of ${count.toLocaleString('en')}`;
  }
  if ('gainedWei' in measured) return `${what} ${gwei(measured.gainedWei).padStart(10)} gwei more than before`;
  if ('missing' in measured) return `${what} ${String(measured.missing).padStart(10)}`;
  if ('times' in measured) return `${what} ${String(measured.times).padStart(10)}`;
  if ('p50Ms' in measured) {
    const { p50Ms, p99Ms, maxMs, count } = measured;
    return `${what} p50 ${String(p50Ms)} ms, p99 ${String(p99Ms)} ms, longest ${String(maxMs)} ms of ${count.toLocaleString('en')}`;
  }
  const { perSecond, count, seconds } = measured;
  return `${what} ${perSecond.toLocaleString('en').padStart(10)}/s   ${count.toLocaleString('en')} in ${String(seconds)} s`;
};

const gwei = (wei: string): string => (BigInt(wei) / 10n ** 9n).toLocaleString('en');

const bench = new Command('npm run bench --')
  .description('measures this machine')
  .argument('[names...]', `which: ${Object.keys(benches).join(', ')}; all that can run here without any`)
  .option('--json', 'a line of JSON for each figure')
  .action(async (names: string[], { json = false }: { json?: boolean }) => {
    const unknown = names.find((name) => !Object.hasOwn(benches, name));
    if (unknown === undefined) return run(names, json);
    process.stderr.write(`There is no bench called ${unknown}; there are: ${Object.keys(benches).join(', ')}\n`);
    process.exitCode = 1;
  });

await runCommandLine(bench);
