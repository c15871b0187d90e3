/** The longest file of the fault tests, which takes as long as a third of all others. */
const LONGEST = 'faults.e2e.spec';
/** A spec that fails may leave a process behind, for which jest would wait. */
const END = '--forceExit';

/**
 * The jobs of jest, each a process of its own; those of a line run one after the other, beside those of the other line, so
 * that both take about as long. The fault tests spend most of their time waiting for servers that are down, and stop only
 * their own servers.
 */
const lines = [
  [
    { name: 'faults', args: [LONGEST, '--selectProjects', 'faults', END] },
    { name: 'end-to-end', args: ['--selectProjects', 'end-to-end', END] },
  ],
  [
    { name: 'others', args: ['--ignoreProjects', 'faults', 'end-to-end', END] },
    { name: 'other faults', args: ['--testPathIgnorePatterns', LONGEST, '--selectProjects', 'faults', END] },
  ],
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
  /** @param {{ name: string, args: string[] }} job */
  const runJob = async ({ name, args }) => {
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
  };
  const ofEachLine = lines.map(async (jobs) => {
    const ended = [];
    for (const job of jobs) ended.push(await runJob(job));
    return ended;
  });
  const results = (await Promise.all(ofEachLine)).flat();
  for (const { text } of results) print(text);
  /** @param {keyof Counts} name */
  const sum = (name) => results.reduce((total, { counts }) => total + counts[name], 0);
  print(`\n${countsLine({ passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') })}`);
  return results.every(({ code }) => code === 0) ? 0 : 1;
};
