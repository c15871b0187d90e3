import { describe, expect, it } from '@jest/globals';
import { runSpecJobs } from './spec-jobs.mjs';

/** Runs the two jobs with these outputs and exit codes; returns what is printed, and the exit code. */
const run = async (faults: readonly string[], others: readonly string[], codes = [0, 0]) => {
  const printed: string[] = [];
  const code = await runSpecJobs({
    run: ([option], onLine) => {
      const isFaults = option === '--selectProjects';
      for (const line of isFaults ? faults : others) onLine(line);
      return Promise.resolve(codes[isFaults ? 0 : 1] ?? 1);
    },
    print: (text) => printed.push(...text.split('\n')),
  });
  return { code, printed };
};

describe('the spec jobs', () => {
  it('print each line with the name of its job, then each summary again, then the sum of the counts', async () => {
    const summary = ['Test Suites: 2 passed, 2 total', 'Tests:       9 passed, 9 total', 'Time:        3.5 s'];
    const { code, printed } = await run(
      ['20 of 20 kills', ...summary, '6 passed, 0 failed'],
      ['9 passed, 0 failed, 1 skipped'],
    );
    expect(code).toBe(0);
    expect(printed).toEqual([
      'faults | 20 of 20 kills',
      ...summary.map((line) => `faults | ${line}`),
      '',
      'faults: exit code 0 after 0 s',
      ...summary,
      '',
      'others: exit code 0 after 0 s',
      '',
      '15 passed, 0 failed, 1 skipped',
    ]);
  });

  it('fail when one of them fails, and name the failed file once', async () => {
    const { code, printed } = await run(
      ['6 passed, 0 failed'],
      ['FAIL unit shared/a.spec.ts', '8 passed, 1 failed'],
      [0, 1],
    );
    expect(code).toBe(1);
    expect(printed.filter((line) => line === 'FAIL unit shared/a.spec.ts')).toHaveLength(1);
    expect(printed.at(-1)).toBe('14 passed, 1 failed');
  });

  it('count a job whose process crashed as one failure', async () => {
    const { code, printed } = await run(['6 passed, 0 failed'], ['out of memory'], [0, 134]);
    expect(code).toBe(1);
    expect(printed.at(-1)).toBe('6 passed, 1 failed');
  });

  it('fail when jest exits with an error although no test failed', async () => {
    expect((await run(['6 passed, 0 failed'], ['9 passed, 0 failed'], [0, 1])).code).toBe(1);
  });
});
