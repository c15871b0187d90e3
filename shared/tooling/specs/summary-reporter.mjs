import { writeSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { root } from '../ready.mjs';
import { countsLine } from './spec-jobs.mjs';

const STDOUT = 1;
/** Of a failure's message; the whole of it is where jest prints it. */
const MESSAGE_LINES_MAX = 15;

/** @typedef {{ fullName: string, failureMessages: string[] }} TestResult */
/** @typedef {{ testFilePath: string, testExecError?: { message: string, stack?: string }, testResults: TestResult[] }} FileResult */

const STACK_LINE = /^\s+at /;

/**
 * The beginning of a message, and of what caused it: of their stacks only the first lines, which name the place.
 * @param {string} text
 */
const cut = (text) =>
  stripVTControlCharacters(text)
    .split('\n')
    .filter((line, at, lines) => !STACK_LINE.test(line) || !STACK_LINE.test(lines[at - 1] ?? ''))
    .slice(0, MESSAGE_LINES_MAX);

/**
 * The failures of a spec file, each as one line with its place and the beginning of its message.
 * @param {FileResult} file
 */
export const failuresOf = ({ testFilePath, testExecError, testResults }) =>
  [
    // jest has the failures of `afterAll` in the stack, and no message.
    {
      fullName: 'fails outside its tests',
      failureMessages: testExecError ? [testExecError.message || (testExecError.stack ?? '')] : [],
    },
    ...testResults,
  ].flatMap(({ fullName, failureMessages }) =>
    failureMessages.flatMap((message) => [
      `FAILED ${relative(root, testFilePath)} › ${fullName}`,
      ...cut(message).map((line) => `FAILED   ${line}`),
    ]),
  );

/** Ends a run with its failures and one line of counts, in which a spec file that cannot be loaded is a failure. */
export default class SummaryReporter {
  /**
   * @param {unknown} _contexts
   * @param {Record<'numPassedTests' | 'numFailedTests' | 'numPendingTests' | 'numTodoTests' | 'numRuntimeErrorTestSuites', number> & { testResults: FileResult[] }} results
   */
  onRunComplete(_contexts, results) {
    const line = countsLine({
      passed: results.numPassedTests,
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
    });
    for (const failure of results.testResults.flatMap(failuresOf)) process.stdout.write(`${failure}\n`);
    // Written at exit, because jest's own summary comes after all reporters, and past the stream, which is closed then.
    process.once('exit', () => {
      writeSync(STDOUT, `${line}\n`);
    });
  }
}
