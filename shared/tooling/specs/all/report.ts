import { countsLine } from '../spec-jobs.mjs';
import { sum, type RunRecord } from './run-record.ts';

const MINUTE = 60;

/** A suite with its spec files. */
export interface PlannedSuite {
  name: string;
  about: string;
  minutes: number;
  files: readonly string[];
}

const minutesOf = (seconds: number): string => `${String(Math.max(1, Math.round(seconds / MINUTE)))} min`;

/** Aligns the first column to the left, and the others to the right. */
const table = (rows: readonly (readonly string[])[]): string[] => {
  const widthOf = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  return rows.map((row) =>
    row.map((cell, at) => (at === 0 ? cell.padEnd(widthOf(at)) : cell.padStart(widthOf(at)))).join('  '),
  );
};

/** Says what will run, and for about how long. */
export const announcement = (suites: readonly PlannedSuite[]): string => {
  const rows = suites.map(({ name, files, minutes }) => [
    name,
    `${String(files.length)} files`,
    `${String(minutes)} min`,
  ]);
  const lines = table(rows).map((line, at) => `  ${line}  ${suites[at]?.about ?? ''}`);
  const seconds = sum(suites.map(({ minutes }) => minutes * MINUTE));
  return [`This takes about ${minutesOf(seconds)} on two cores that do nothing else:`, ...lines].join('\n');
};

/**
 * Says how far a suite is, and how long the run will still take: as long as its suites usually take, times the slowdown of the
 * suites that are done.
 * @param seconds since the suite began or went on
 */
export const progress = (
  suites: readonly PlannedSuite[],
  record: RunRecord,
  suite: PlannedSuite,
  seconds: number,
): string => {
  const at = suites.indexOf(suite);
  const [done, later] = [suites.slice(0, at), suites.slice(at + 1)];
  const usual = (some: readonly PlannedSuite[]) => sum(some.map(({ minutes }) => minutes * MINUTE));
  const took = (some: readonly PlannedSuite[]) => sum(some.map(({ name }) => record.of(name).seconds));
  const slowdown = usual(done) > 0 ? took(done) / usual(done) : 1;
  const { files, passed, failed, skipped, seconds: before } = record.of(suite.name);
  const left = Math.max(0, usual([suite]) * slowdown - before - seconds) + usual(later) * slowdown;
  const of = `${String(files.length)} of ${String(suite.files.length)} files`;
  const counts = countsLine({ passed, failed, skipped });
  return `${suite.name}: ${of}, ${counts}, ${minutesOf(before + seconds)}; about ${minutesOf(left)} left`;
};

/** Returns the closing table, and the sum of all counts as the last line. */
export const closingTable = (suites: readonly PlannedSuite[], record: RunRecord): string => {
  const columns = ['passed', 'failed', 'skipped', 'seconds'] as const;
  const found = suites.map(({ name }) => ({ name, ...record.of(name) }));
  const total = (column: (typeof columns)[number]) => sum(found.map((suite) => suite[column]));
  const counts = { passed: total('passed'), failed: total('failed'), skipped: total('skipped') };
  return [
    ...table([
      ['suite', ...columns],
      ...found.map((suite) => [suite.name, ...columns.map((column) => String(suite[column]))]),
      ['all', ...columns.map((column) => String(total(column)))],
    ]),
    '',
    countsLine(counts),
  ].join('\n');
};
