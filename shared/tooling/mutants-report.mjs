/** What is shown of a line before and behind a fault. */
const CONTEXT_CHARACTERS_MAX = 80;
const REPLACED_CHARACTERS_MAX = 160;

/** @type {Record<string, string>} */
const OUTCOMES = {
  Survived: 'no spec notices',
  NoCoverage: 'no spec runs it',
  Timeout: 'ran too long',
  RuntimeError: 'the worker failed',
};

/** What Stryker's reason begins with when a worker fails; any other error is of a spec file that cannot be loaded. */
const WORKER_FAILED = 'Test runner crashed';

/**
 * A fault and what became of it, as Stryker has it; lines and columns begin with 1.
 * @typedef {{
 *   file: string,
 *   location: Record<'start' | 'end', { line: number, column: number }>,
 *   replacement?: string | undefined,
 *   status: string,
 *   statusReason?: string | undefined,
 * }} Mutant
 * @typedef {{ place: string, outcome: string, was: string, became: string }} Survivor
 * @typedef {{ mutants: number, found: number, percent: number }} Score
 * @typedef {Score & { files: (Score & { file: string, survivors: Survivor[] })[] }} Report
 */

/**
 * A fault is found when a spec fails, or cannot even be loaded; not when a spec does not come to its end.
 * @param {Mutant} mutant
 */
const isFound = ({ status, statusReason = '' }) =>
  status === 'Killed' || (status === 'RuntimeError' && !statusReason.startsWith(WORKER_FAILED));

/** Of what runs only once, as its file is loaded, nothing is said. @param {Mutant} mutant */
const isAsked = ({ status }) => status !== 'Ignored';

/** @param {readonly Mutant[]} mutants @returns {Score} */
const scoreOf = (mutants) => {
  const found = mutants.filter(isFound).length;
  const percent = mutants.length === 0 ? 100 : Math.floor((found / mutants.length) * 1_000) / 10;
  return { mutants: mutants.length, found, percent };
};

/** @param {string} text */
const inOneLine = (text) => text.replaceAll(/\s+/g, ' ');

/** @param {string} text @param {number} max */
const beginningOf = (text, max) => (text.length > max ? `${text.slice(0, max)}…` : text);

/** @param {string} text @param {number} max */
const endOf = (text, max) => (text.length > max ? `…${text.slice(-max)}` : text);

/** @param {Mutant} mutant @param {string} source @returns {Survivor} */
const survivorOf = ({ file, location: { start, end }, replacement = '', status }, source) => {
  const lines = source.split('\n').slice(start.line - 1, end.line);
  const last = lines.at(-1) ?? '';
  const before = endOf(inOneLine(lines[0]?.slice(0, start.column - 1) ?? '').trimStart(), CONTEXT_CHARACTERS_MAX);
  const behind = beginningOf(inOneLine(last.slice(end.column - 1)).trimEnd(), CONTEXT_CHARACTERS_MAX);
  const replaced = [...lines.slice(0, -1), last.slice(0, end.column - 1)].join('\n').slice(start.column - 1);
  /** @param {string} text */
  const inItsPlace = (text) => `${before}${beginningOf(inOneLine(text), REPLACED_CHARACTERS_MAX)}${behind}`;
  return {
    place: `${file}:${String(start.line)}:${String(start.column)}`,
    outcome: OUTCOMES[status] ?? status,
    was: inItsPlace(replaced),
    became: inItsPlace(replacement),
  };
};

/**
 * How many of the faults were found, and each that was not.
 * @param {readonly Mutant[]} all
 * @param {(file: string) => string} read
 * @returns {Report}
 */
export const reportOf = (all, read) => {
  const mutants = all.filter(isAsked);
  const files = [...Map.groupBy(mutants, ({ file }) => file)].map(([file, inFile]) => {
    const source = read(file);
    const survivors = inFile.filter((mutant) => !isFound(mutant)).map((mutant) => survivorOf(mutant, source));
    return { file, ...scoreOf(inFile), survivors };
  });
  files.sort((left, right) => (left.file < right.file ? -1 : 1));
  return { ...scoreOf(mutants), files };
};

/** @param {Score} score */
const scoreText = ({ mutants, found, percent }) =>
  `${percent.toFixed(1).padStart(5)} % found, ${String(found)} of ${String(mutants)}`;

/** @param {Survivor} survivor */
const survivorText = ({ place, outcome, was, became }) => `  ${place}  ${outcome}\n    - ${was}\n    + ${became}`;

/** @param {Report} report @param {number} percentMin */
export const asText = (report, percentMin) =>
  [
    ...report.files.flatMap(({ file, survivors, ...score }) => [
      `${scoreText(score)}  ${file}`,
      ...survivors.map(survivorText),
    ]),
    `${scoreText(report)}; at least ${String(percentMin)} % have to be`,
  ].join('\n');
