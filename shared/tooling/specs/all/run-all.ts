import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../../failure.mjs';
import { runNode } from '../../launch.mjs';
import { root } from '../../ready.mjs';
import { jestCommand } from '../jest-command.mjs';
import { listSpecs } from '../list-specs.mjs';
import { NotHere, provide } from './needs.ts';
import { announcement, closingTable, progress, type PlannedSuite } from './report.ts';
import { RunRecord } from './run-record.ts';
import { runSuite } from './run-suite.ts';
import { DRAWS, suites, type Suite } from './suites.ts';

const FOLDER = join(root, 'node_modules/.cache/test-all');
const RECORD = join(FOLDER, 'results.ndjson');
const REPORTS_EVERY_MS = 30_000;
const SEEDS = 2 ** 31;
const INTERRUPTED = 130;

const execute = promisify(execFile);
const print = (text: string): void => console.log(text);

type Planned = PlannedSuite & Suite;

const commitOfCheckout = async (): Promise<string> => {
  try {
    return (await execute('git', ['rev-parse', 'HEAD'], { cwd: root })).stdout.trim();
  } catch {
    // A checkout without its history has one version only.
    return 'unknown';
  }
};

/** @throws Failure if a name is not of a suite */
const planned = async (names: readonly string[]): Promise<readonly Planned[]> => {
  const unknown = names.find((name) => !suites.some((suite) => suite.name === name));
  if (unknown !== undefined)
    throw new Failure(`No suite is called ${unknown}: there are ${suites.map(({ name }) => name).join(', ')}.`);
  const specs = await listSpecs([]);
  return suites
    .filter(({ name }) => names.length === 0 || names.includes(name))
    .map((suite) => ({ ...suite, files: specs.filter(suite.has).map(({ file }) => file) }));
};

/** Prints the suites with these names, or all; runs nothing. */
export const printSuites = async (names: readonly string[]): Promise<void> => print(announcement(await planned(names)));

/** Returns the record of the last run, or of a new one with random seeds that the caller has not set. */
const recordOf = async (goOn: boolean): Promise<RunRecord> => {
  const commit = await commitOfCheckout();
  if (goOn) return RunRecord.open(RECORD, commit);
  const seed = () => String(randomInt(SEEDS));
  const draws = { ...DRAWS, CASES_SEED: seed(), FUZZ_SEED: seed() };
  const chosen = Object.entries(draws).map(([name, value]) => [name, process.env[name] ?? value] as const);
  return RunRecord.begin(RECORD, { commit, draws: Object.fromEntries(chosen) });
};

/** Runs jest with these settings in its environment. */
const jestWith =
  (settings: Readonly<Record<string, string>>) =>
  (files: readonly string[], onLine: (line: string) => void): Promise<number> => {
    const reporters = ['--reporters=default', `--reporters=${join(import.meta.dirname, 'file-results-reporter.mjs')}`];
    // A spec that fails may leave a process behind, for which jest would wait.
    const argv = [...jestCommand, '--forceExit', ...reporters, '--runTestsByPath', ...files];
    // One suite runs on geth; the others run on anvil.
    return runNode(argv, onLine, { ...process.env, GETH: '', ...settings });
  };

/** Runs a suite with what it needs. @throws NotHere if this machine lacks what it needs */
const runPlanned = async (suite: Planned, record: RunRecord, interrupted: AbortSignal): Promise<void> => {
  const { name, files, environment } = suite;
  const log = join(FOLDER, `${name}.log`);
  const provided = await provide(suite.needs, print);
  try {
    await runSuite({
      suite: name,
      files,
      record,
      run: jestWith({ ...record.run.draws, ...environment, ...provided.settings }),
      log: (line) => appendFileSync(log, `${line}\n`),
      print,
      isInterrupted: () => interrupted.aborted,
    });
  } finally {
    await provided.stop();
  }
};

/** A signal that aborts when this process is told to end, so that the run ends with its table. */
const interruption = (): AbortSignal => {
  const controller = new AbortController();
  // Each suite runs a Node, and each of them listens for the same signals.
  process.setMaxListeners(Infinity);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => controller.abort());
  return controller.signal;
};

/**
 * Runs suites one after another, and prints the progress and a table.
 * @param names default: all suites
 * @param goOn whether to keep the results of the last run
 * @returns the exit code
 */
export const runAll = async (names: readonly string[], goOn: boolean): Promise<number> => {
  const plan = await planned(names);
  const record = await recordOf(goOn);
  const interrupted = interruption();
  const draws = Object.entries(record.run.draws).map((setting) => setting.join('='));
  print(`${announcement(plan)}\nDraws: ${draws.join(' ')}\nThe output of jest is in ${relative(root, FOLDER)}.`);
  const notRun: string[] = [];
  for (const suite of plan) {
    if (interrupted.aborted) break;
    if (record.of(suite.name).files.length === 0) writeFileSync(join(FOLDER, `${suite.name}.log`), '');
    const startedAt = performance.now();
    const reporting = setInterval(() => {
      print(progress(plan, record, suite, (performance.now() - startedAt) / 1_000));
    }, REPORTS_EVERY_MS);
    try {
      await runPlanned(suite, record, interrupted);
      print(progress(plan, record, suite, 0));
    } catch (error) {
      if (!(error instanceof NotHere)) throw error;
      notRun.push(`${suite.name} did not run: ${error.message}.`);
    } finally {
      clearInterval(reporting);
    }
  }
  print(['', ...notRun, closingTable(plan, record)].join('\n'));
  if (!interrupted.aborted) return plan.some(({ name }) => record.of(name).failed > 0) ? 1 : 0;
  print('Interrupted: npm run test:all -- --continue goes on.');
  return INTERRUPTED;
};
