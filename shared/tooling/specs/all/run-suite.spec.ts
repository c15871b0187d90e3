import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { root } from '../../ready.mjs';
import { FILE_RESULT } from './file-results-reporter.mjs';
import { RunRecord } from './run-record.ts';
import { runSuite } from './run-suite.ts';

const A = join(root, 'shared/a.spec.ts');
const B = join(root, 'shared/b.spec.ts');
const resultOf = (file: string, failed = 0) => FILE_RESULT + JSON.stringify({ file, passed: 2, failed, skipped: 0 });

describe('a suite', () => {
  let record: RunRecord;
  let printed: string[];
  let logged: string[];
  let ran: (readonly string[])[];
  beforeEach(() => {
    record = RunRecord.begin(join(temporaryFolder(), 'results.ndjson'), { commit: 'c0ffee', draws: {} });
    [printed, logged, ran] = [[], [], []];
  });

  /** Runs the suite of two files with a jest that writes these lines. */
  const run = (lines: readonly string[], { code = 0, isInterrupted = false } = {}) =>
    runSuite({
      suite: 'unit',
      files: [A, B],
      record,
      run: (files, onLine) => {
        ran.push(files);
        lines.forEach(onLine);
        return Promise.resolve(code);
      },
      log: (line) => logged.push(line),
      print: (line) => printed.push(line),
      isInterrupted: () => isInterrupted,
    });
  const counts = () => {
    const { files, passed, failed } = record.of('unit');
    return { files, passed, failed };
  };

  it('records the result of each file, prints failures only, and logs all that jest writes', async () => {
    await run(['PASS a', resultOf(A), 'FAILED b › adds', resultOf(B, 1)], { code: 1 });
    expect(counts()).toEqual({ files: [A, B], passed: 4, failed: 1 });
    expect(printed).toEqual(['FAILED b › adds']);
    expect(logged).toEqual(['PASS a', 'FAILED b › adds']);
  });

  it('runs the files that have no result yet, and nothing once all have one', async () => {
    record.addResult({ suite: 'unit', file: A, passed: 1, failed: 0, skipped: 0 });
    await run([resultOf(B)]);
    await run([]);
    expect(ran).toEqual([[B]]);
    expect(counts()).toEqual({ files: [A, B], passed: 3, failed: 0 });
  });

  it('counts a file as failed that has no result because jest crashed', async () => {
    await run([resultOf(A)], { code: 134 });
    expect(counts()).toEqual({ files: [A, B], passed: 2, failed: 1 });
    expect(printed).toEqual(['FAILED shared/b.spec.ts has no result: jest ended with exit code 134']);
  });

  it('has failed if jest ends with an error although no test has failed', async () => {
    await run([resultOf(A), resultOf(B)], { code: 1 });
    expect(record.of('unit').failed).toBe(1);
  });

  it('leaves the files without a result to the next run if it is interrupted', async () => {
    let interrupted = false;
    await runSuite({
      suite: 'unit',
      files: [A, B],
      record,
      run: (_, onLine) => {
        onLine(resultOf(A));
        interrupted = true;
        onLine(resultOf(B, 1));
        return Promise.resolve(130);
      },
      log: () => undefined,
      print: (line) => printed.push(line),
      isInterrupted: () => interrupted,
    });
    expect(counts()).toEqual({ files: [A], passed: 2, failed: 0 });
    expect(printed).toEqual([]);
    await run([], { isInterrupted: true });
    expect(ran).toEqual([]);
  });
});
