import { writeSync } from 'node:fs';
import { failuresOf } from '../summary-reporter.mjs';

const STDOUT = 1;

/** The line of output with the counts of one spec file begins with this. */
export const FILE_RESULT = 'FILE_RESULT ';

/** @typedef {import('../summary-reporter.mjs').FileResult & Record<'numPassingTests' | 'numFailingTests' | 'numPendingTests' | 'numTodoTests', number>} File */

/** Writes the failures and the counts of each spec file as soon as the file has ended. */
export default class FileResultsReporter {
  /**
   * @param {unknown} _test
   * @param {File} file
   */
  onTestResult(_test, file) {
    const result = {
      file: file.testFilePath,
      passed: file.numPassingTests,
      // A file that cannot be loaded, or that fails after its tests, is a failure too.
      failed: file.numFailingTests + (file.testExecError ? 1 : 0),
      skipped: file.numPendingTests + file.numTodoTests,
    };
    // Past the stream: jest buffers that, and loses the last lines at a forced exit.
    for (const line of [...failuresOf(file), FILE_RESULT + JSON.stringify(result)]) writeSync(STDOUT, `${line}\n`);
  }
}
