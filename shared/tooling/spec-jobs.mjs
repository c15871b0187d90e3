/**
 * The jobs that run at the same time, each in its own jest process. The fault tests take as long as all other specs
 * together, spend most of that time waiting for servers that are down, and stop only their own servers.
 */
const jobs = [
  { name: 'faults', args: ['--selectProjects', 'faults'] },
  { name: 'others', args: ['--ignoreProjects', 'faults'] },
];

const COUNTS_LINE = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/;
/** Lines of jest's closing summary, which are printed again when all jobs have ended. */
const SUMMARY_LINE = /^(FAIL |Test Suites: |Tests: |Time: )/;

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/** @param {Counts} counts */
export const countsLine = ({ passed, failed, skipped }) =>
  `${String(passed)} passed, ${String(failed)} failed${skipped > 0 ? `, ${String(skipped)} skipped` : ''}`;

/**
 * Runs every spec. Each line of output begins with the name of its job; the summaries are printed again at the end.
 * @param {object} options
 * @param {(args: string[], onLine: (line: string) => void) => Promise<number>} options.run runs jest, returns its exit code
 * @param {(text: string) => void} options.print
 * @returns {Promise<number>} the exit code
 */
export const runSpecJobs = async ({ run, print }) => {
  const results = await Promise.all(
    jobs.map(async ({ name, args }) => {
      const startedAt = performance.now();
      /** @type {string[]} */
      const summary = [];
      /** @type {Counts} if jest ends without a line of counts */
      let counts = { passed: 0, failed: 1, skipped: 0 };
      const code = await run(args, (line) => {
        const [, passed, failed, skipped = 0] = COUNTS_LINE.exec(line) ?? [];
        if (passed !== undefined) counts = { passed: Number(passed), failed: Number(failed), skipped: Number(skipped) };
        else print(`${name} | ${line}`);
        if (SUMMARY_LINE.test(line)) summary.push(line);
      });
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
      const text = [`\n${name}: exit code ${String(code)} after ${seconds} s`, ...summary].join('\n');
      return { code, counts, text };
    }),
  );
  for (const { text } of results) print(text);
  /** @param {keyof Counts} name */
  const sum = (name) => results.reduce((total, { counts }) => total + counts[name], 0);
  print(`\n${countsLine({ passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') })}`);
  return results.every(({ code }) => code === 0) ? 0 : 1;
};
