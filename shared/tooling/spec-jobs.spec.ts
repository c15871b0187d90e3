import { describe, expect, it } from '@jest/globals';
import { runSpecJobs } from './spec-jobs.mjs';

type Output = readonly [lines: readonly string[], code?: number];
const passed = (count: number): Output => [[`${String(count)} passed, 0 failed`]];

/** Runs the jobs with these outputs and exit codes; returns what is printed, the exit code, and how the jobs ran. */
const run = async (faults: Output, endToEnd: Output, others: Output) => {
  const printed: string[] = [];
  const ran: string[] = [];
  const code = await runSpecJobs({
    run: async ([option, project = ''], onLine) => {
      const job = option === '--selectProjects' ? project : 'others';
      const [lines, exitCode = 0] = { faults, 'end-to-end': endToEnd }[job] ?? others;
      ran.push(`${job} begins`);
      for (const line of lines) onLine(line);
      await Promise.resolve();
      ran.push(`${job} ends`);
      return exitCode;
    },
    print: (text) => printed.push(...text.split('\n')),
  });
  return { code, printed, ran };
};

describe('the spec jobs', () => {
  it('print each line with the name of its job, then each summary again, then the sum of the counts', async () => {
    const summary = ['Test Suites: 2 passed, 2 total', 'Tests:       9 passed, 9 total', 'Time:        3.5 s'];
    const { code, printed } = await run([['20 of 20 kills', ...summary, '6 passed, 0 failed']], passed(3), [
      ['9 passed, 0 failed, 1 skipped'],
    ]);
    expect(code).toBe(0);
    expect(printed).toEqual([
      'faults | 20 of 20 kills',
      ...summary.map((line) => `faults | ${line}`),
      '',
      'faults: exit code 0 after 0 s',
      ...summary,
      '',
      'end-to-end: exit code 0 after 0 s',
      '',
      'others: exit code 0 after 0 s',
      '',
      '18 passed, 0 failed, 1 skipped',
    ]);
  });

  it('run in two lines: what has bounds of time never beside each other', async () => {
    const { ran } = await run(passed(6), passed(3), passed(9));
    expect(ran.indexOf('end-to-end begins')).toBeGreaterThan(ran.indexOf('faults ends'));
    expect(ran.indexOf('others begins')).toBeLessThan(ran.indexOf('faults ends'));
  });

  it('fail when one of them fails, and name the failed file once', async () => {
    const { code, printed } = await run(passed(6), passed(3), [
      ['FAIL unit shared/a.spec.ts', '8 passed, 1 failed'],
      1,
    ]);
    expect(code).toBe(1);
    expect(printed.filter((line) => line === 'FAIL unit shared/a.spec.ts')).toHaveLength(1);
    expect(printed.at(-1)).toBe('17 passed, 1 failed');
  });

  it('count a job whose process crashed as one failure', async () => {
    const { code, printed } = await run(passed(6), passed(3), [['out of memory'], 134]);
    expect(code).toBe(1);
    expect(printed.at(-1)).toBe('9 passed, 1 failed');
  });

  it('fail when jest exits with an error although no test failed', async () => {
    expect((await run(passed(6), [['3 passed, 0 failed'], 1], passed(9))).code).toBe(1);
  });
});
