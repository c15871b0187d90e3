import { relative } from 'node:path';
import { root } from '../../ready.mjs';
import { FILE_RESULT } from './file-results-reporter.mjs';
import type { FileResult, RunRecord } from './run-record.ts';

interface Options {
  suite: string;
  files: readonly string[];
  record: RunRecord;
  /** Runs jest with these files, and returns its exit code. */
  run: (files: readonly string[], onLine: (line: string) => void) => Promise<number>;
  /** Keeps the output of jest. */
  log: (line: string) => void;
  print: (line: string) => void;
  isInterrupted: () => boolean;
}

/**
 * Runs the spec files of a suite that have no result yet, in one jest. A file that has no result when jest has ended counts as
 * failed, because jest has crashed. Does nothing once the run is interrupted.
 */
export const runSuite = async ({ suite, files, record, run, log, print, isInterrupted }: Options): Promise<void> => {
  const done = new Set(record.of(suite).files);
  const left = files.filter((file) => !done.has(file));
  if (left.length === 0 || isInterrupted()) return;
  const startedAt = performance.now();
  const code = await run(left, (line) => {
    if (line.startsWith(FILE_RESULT)) {
      // What the interruption has ended may be told as a failure.
      if (isInterrupted()) return;
      const result = JSON.parse(line.slice(FILE_RESULT.length)) as Omit<FileResult, 'suite'>;
      record.addResult({ suite, ...result });
      return;
    }
    log(line);
    if (line.startsWith('FAILED ')) print(line);
  });
  record.addDuration({ suite, seconds: Math.round((performance.now() - startedAt) / 1_000) });
  if (isInterrupted()) return;
  const fails = (file: string, because: string) => {
    print(`FAILED ${relative(root, file)} ${because}`);
    record.addResult({ suite, file, passed: 0, failed: 1, skipped: 0 });
  };
  const { files: known, failed } = record.of(suite);
  const missing = left.filter((file) => !known.includes(file));
  for (const file of missing) fails(file, `has no result: jest ended with exit code ${String(code)}`);
  // Jest also fails if what a spec left behind crashes a worker after the last test.
  if (code !== 0 && failed === 0 && missing.length === 0)
    fails(suite, `has no failed test, but jest ended with exit code ${String(code)}`);
};
