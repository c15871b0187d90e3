import { countsLine } from './spec-jobs.mjs';

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
    // Printed at exit, because jest's own summary comes after all reporters.
    process.once('exit', () => {
      console.log(line);
    });
  }
}
