/**
 * What runs side by side, each in a jest of its own. The fault tests take as long as all others together, wait most of that
 * for servers that are away, and break none but their own.
 */
const lanes = [
  { name: 'faults', args: ['--selectProjects', 'faults'] },
  { name: 'others', args: ['--ignoreProjects', 'faults'] },
];

const CLOSING = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/;
/** Of what jest says at its end. */
const TOLD_AGAIN = /^(FAIL |Test Suites: |Tests: |Time: )/;

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/** @param {Counts} counts */
export const closingLine = ({ passed, failed, skipped }) =>
  `${String(passed)} passed, ${String(failed)} failed${skipped > 0 ? `, ${String(skipped)} skipped` : ''}`;

/**
 * Runs every spec. Each line has the name of its lane before it, and what counts is told again when all lanes have ended.
 * @param {object} means
 * @param {(args: string[], onLine: (line: string) => void) => Promise<number>} means.run runs jest, returns its exit code
 * @param {(text: string) => void} means.say
 * @returns {Promise<number>} the exit code
 */
export const runLanes = async ({ run, say }) => {
  const ends = await Promise.all(
    lanes.map(async ({ name, args }) => {
      const startedAt = performance.now();
      /** @type {string[]} */
      const told = [];
      /** @type {Counts} of a run that does not come to its end */
      let counts = { passed: 0, failed: 1, skipped: 0 };
      const code = await run(args, (line) => {
        const [, passed, failed, skipped = 0] = CLOSING.exec(line) ?? [];
        if (passed !== undefined) counts = { passed: Number(passed), failed: Number(failed), skipped: Number(skipped) };
        else say(`${name} | ${line}`);
        if (TOLD_AGAIN.test(line)) told.push(line);
      });
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
      const text = [`\n${name}: exit code ${String(code)} after ${seconds} s`, ...told].join('\n');
      return { code, counts, text };
    }),
  );
  for (const { text } of ends) say(text);
  /** @param {keyof Counts} name */
  const sum = (name) => ends.reduce((total, { counts }) => total + counts[name], 0);
  say(`\n${closingLine({ passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') })}`);
  return ends.every(({ code }) => code === 0) ? 0 : 1;
};
