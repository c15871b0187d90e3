/** How much of a line is shown before and after a mutant. */
const CONTEXT_CHARACTERS_MAX = 80;
const REPLACED_CHARACTERS_MAX = 160;

/** @type {Record<string, string>} */
const OUTCOMES = {
  Survived: 'no spec fails',
  NoCoverage: 'no spec runs it',
  Timeout: 'ran too long',
  RuntimeError: 'the worker failed',
};

/** The beginning of Stryker's reason when a worker fails; with any other reason a spec file could not be loaded. */
const WORKER_FAILED = 'Test runner crashed';

/**
 * A mutant and its outcome, as Stryker reports it; lines and columns begin with 1.
 * @typedef {{
 *   file: string,
 *   location: Record<'start' | 'end', { line: number, column: number }>,
 *   replacement?: string | undefined,
 *   status: string,
 *   statusReason?: string | undefined,
 * }} Mutant
 * @typedef {{ location: string, outcome: string, original: string, mutated: string }} Survivor
 * @typedef {{ mutants: number, found: number, percent: number }} Score
 * @typedef {Score & { files: (Score & { file: string, survivors: Survivor[] })[] }} Report
 */

/**
 * A mutant is found when a spec fails or its file cannot be loaded, but not when a spec times out.
 * @param {Mutant} mutant
 */
const isFound = ({ status, statusReason = '' }) =>
  status === 'Killed' || (status === 'RuntimeError' && !statusReason.startsWith(WORKER_FAILED));

/** Mutants of code that only runs while its file is loaded are not counted. @param {Mutant} mutant */
const isCounted = ({ status }) => status !== 'Ignored';

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
  const after = beginningOf(inOneLine(last.slice(end.column - 1)).trimEnd(), CONTEXT_CHARACTERS_MAX);
  const replaced = [...lines.slice(0, -1), last.slice(0, end.column - 1)].join('\n').slice(start.column - 1);
  /** @param {string} text */
  const inContext = (text) => `${before}${beginningOf(inOneLine(text), REPLACED_CHARACTERS_MAX)}${after}`;
  return {
    location: `${file}:${String(start.line)}:${String(start.column)}`,
    outcome: OUTCOMES[status] ?? status,
    original: inContext(replaced),
    mutated: inContext(replacement),
  };
};

/**
 * Counts how many mutants were found, and lists those that were not.
 * @param {readonly Mutant[]} all
 * @param {(file: string) => string} read
 * @returns {Report}
 */
export const reportOf = (all, read) => {
  const mutants = all.filter(isCounted);
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
const survivorText = ({ location, outcome, original, mutated }) =>
  `  ${location}  ${outcome}\n    - ${original}\n    + ${mutated}`;

/** @param {Report} report @param {number} percentMin */
export const asText = (report, percentMin) =>
  [
    ...report.files.flatMap(({ file, survivors, ...score }) => [
      `${scoreText(score)}  ${file}`,
      ...survivors.map(survivorText),
    ]),
    `${scoreText(report)}; at least ${String(percentMin)} % are required`,
  ].join('\n');
