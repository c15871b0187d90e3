import { writeSync } from 'node:fs';
import { countsLine } from './spec-jobs.mjs';

const STDOUT = 1;

/** Ends a run with one line of counts, in which a spec file that cannot be loaded is a failure. */
export default class SummaryReporter {
  /**
   * @param {unknown} _contexts
   * @param {Record<'numPassedTests' | 'numFailedTests' | 'numPendingTests' | 'numTodoTests' | 'numRuntimeErrorTestSuites', number>} results
   */
  onRunComplete(_contexts, results) {
    const line = countsLine({
      passed: results.numPassedTests,
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
    });
    // Written at exit, because jest's own summary comes after all reporters, and past the stream, which is closed then.
    process.once('exit', () => {
      writeSync(STDOUT, `${line}\n`);
    });
  }
}
