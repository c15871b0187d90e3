/**
 * Each is a jest of its own, and both run at the same time: the specs of whole systems wait for processes, chains and
 * servers, while the others compute. In one jest with as many workers, the slow specs would fill all of them at last.
 * The others have more workers than cores, because half of their time they wait too.
 */
const jobs = [
  { name: 'systems', args: ['--selectProjects', 'end-to-end'] },
  { name: 'others', args: ['--selectProjects', 'unit', 'integration', '--maxWorkers=4'] },
];

/** A spec that fails may leave a process behind, for which jest would wait. */
const END = '--forceExit';

const COUNTS_LINE = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/;
/** Lines of jest's closing summary and of the failures after it, which are printed again when all jobs have ended. */
const SUMMARY_LINE = /^(FAIL |FAILED |Test Suites: |Tests: |Time: )/;

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/** @param {Counts} counts */
export const countsLine = ({ passed, failed, skipped }) =>
  `${String(passed)} passed, ${String(failed)} failed${skipped > 0 ? `, ${String(skipped)} skipped` : ''}`;

/**
 * Runs every spec but the long ones. Each line of output begins with the name of its job; the
 * summaries are printed again at the end.
 * @param {object} options
 * @param {(args: string[], onLine: (line: string) => void) => Promise<number>} options.run runs jest, returns its exit code
 * @param {(text: string) => void} options.print
 * @returns {Promise<number>} the exit code
 */
export const runSpecJobs = async ({ run, print }) => {
  /** @param {{ name: string, args: string[] }} job */
  const runJob = async ({ name, args }) => {
    const startedAt = performance.now();
    /** @type {string[]} */
    const summary = [];
    /** @type {Counts} if jest ends without a line of counts */
    let counts = { passed: 0, failed: 1, skipped: 0 };
    const code = await run([...args, END], (line) => {
      const [, passed, failed, skipped = 0] = COUNTS_LINE.exec(line) ?? [];
      if (passed !== undefined) counts = { passed: Number(passed), failed: Number(failed), skipped: Number(skipped) };
      else print(`${name} | ${line}`);
      if (SUMMARY_LINE.test(line)) summary.push(line);
    });
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
    const text = [`\n${name}: exit code ${String(code)} after ${seconds} s`, ...summary].join('\n');
    return { code, counts, text };
  };
  const results = await Promise.all(jobs.map(runJob));
  for (const { text } of results) print(text);
  /** @param {keyof Counts} name */
  const sum = (name) => results.reduce((total, { counts }) => total + counts[name], 0);
  print(`\n${countsLine({ passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') })}`);
  return results.every(({ code }) => code === 0) ? 0 : 1;
};
