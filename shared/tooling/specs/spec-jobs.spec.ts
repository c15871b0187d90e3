import { describe, expect, it } from '@jest/globals';
import { runSpecJobs } from './spec-jobs.mjs';

type Output = readonly [lines: readonly string[], code?: number];

const nameOf = (args: readonly string[]): string => (args.includes('unit') ? 'others' : 'systems');

/** Runs the jobs, of which each prints that two specs passed, or what is given; returns what is printed, and how they ran. */
const run = async (outputs: Readonly<Record<string, Output>> = {}) => {
  const printed: string[] = [];
  const ran: string[] = [];
  const code = await runSpecJobs({
    run: async (args, onLine) => {
      const job = nameOf(args);
      const [lines, exitCode = 0] = outputs[job] ?? [['2 passed, 0 failed']];
      ran.push(`${job} begins: ${args.filter((arg) => !arg.startsWith('--')).join(', ')}`);
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
    const { code, printed } = await run({
      systems: [['20 of 20 kills', ...summary, '6 passed, 0 failed']],
      others: [['9 passed, 0 failed, 1 skipped']],
    });
    expect(code).toBe(0);
    expect(printed).toEqual([
      'systems | 20 of 20 kills',
      ...summary.map((line) => `systems | ${line}`),
      '',
      'systems: exit code 0 after 0 s',
      ...summary,
      '',
      'others: exit code 0 after 0 s',
      '',
      '15 passed, 0 failed, 1 skipped',
    ]);
  });

  it('run at the same time', async () => {
    const { ran } = await run();
    expect(ran).toEqual([
      'systems begins: end-to-end',
      'others begins: unit, integration',
      'systems ends',
      'others ends',
    ]);
  });

  it('fail when one of them fails, and name the failed file and its tests once more', async () => {
    const failure = ['FAILED shared/a.spec.ts › adds', 'FAILED   Error: 3'];
    const { code, printed } = await run({
      others: [['FAIL unit shared/a.spec.ts', ...failure, '8 passed, 1 failed'], 1],
    });
    expect(code).toBe(1);
    expect(printed.filter((line) => line === 'FAIL unit shared/a.spec.ts')).toHaveLength(1);
    expect(printed.filter((line) => line.startsWith('FAILED '))).toEqual(failure);
    expect(printed.at(-1)).toBe('10 passed, 1 failed');
  });

  it('count a job whose process crashed as one failure', async () => {
    const { code, printed } = await run({ others: [['out of memory'], 134] });
    expect(code).toBe(1);
    expect(printed.at(-1)).toBe('2 passed, 1 failed');
  });

  it('fail when jest exits with an error although no test failed', async () => {
    expect((await run({ systems: [['3 passed, 0 failed'], 1] })).code).toBe(1);
  });
});
