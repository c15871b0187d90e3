import { describe, expect, it } from '@jest/globals';
import { runLanes } from './lanes.mjs';

/** What two lanes say, the fault tests first; and the exit code of both together. */
const told = async (faults: readonly string[], others: readonly string[], codes = [0, 0]) => {
  const said: string[] = [];
  const code = await runLanes({
    run: ([option], onLine) => {
      const isFaults = option === '--selectProjects';
      for (const line of isFaults ? faults : others) onLine(line);
      return Promise.resolve(codes[isFaults ? 0 : 1] ?? 1);
    },
    say: (text) => said.push(...text.split('\n')),
  });
  return { code, said };
};

describe('the specs in lanes', () => {
  it('say which lane says what, then each summary again, and at last one line of counts that adds up both', async () => {
    const summary = ['Test Suites: 2 passed, 2 total', 'Tests:       9 passed, 9 total', 'Time:        3.5 s'];
    const { code, said } = await told(
      ['20 of 20 kills', ...summary, '6 passed, 0 failed'],
      ['9 passed, 0 failed, 1 skipped'],
    );
    expect(code).toBe(0);
    expect(said).toEqual([
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

  it('fail when one of them fails, and say again which file it was', async () => {
    const { code, said } = await told(
      ['6 passed, 0 failed'],
      ['FAIL unit shared/a.spec.ts', '8 passed, 1 failed'],
      [0, 1],
    );
    expect(code).toBe(1);
    expect(said.filter((line) => line === 'FAIL unit shared/a.spec.ts')).toHaveLength(1);
    expect(said.at(-1)).toBe('14 passed, 1 failed');
  });

  it('count one that was cut short as a failure', async () => {
    const { code, said } = await told(['6 passed, 0 failed'], ['out of memory'], [0, 134]);
    expect(code).toBe(1);
    expect(said.at(-1)).toBe('6 passed, 1 failed');
  });

  it('fail when jest fails for another reason than a test', async () => {
    expect((await told(['6 passed, 0 failed'], ['9 passed, 0 failed'], [0, 1])).code).toBe(1);
  });
});
