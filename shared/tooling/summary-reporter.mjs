import { closingLine } from './lanes.mjs';

/** Ends a run with one plain line for whoever reads only that. A spec file that cannot even be loaded is a failure. */
export default class SummaryReporter {
  /**
   * @param {unknown} _contexts
   * @param {Record<'numPassedTests' | 'numFailedTests' | 'numPendingTests' | 'numTodoTests' | 'numRuntimeErrorTestSuites', number>} results
   */
  onRunComplete(_contexts, results) {
    const line = closingLine({
      passed: results.numPassedTests,
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
    });
    // Not at once: jest's own summary comes after every reporter.
    process.once('exit', () => {
      console.log(line);
    });
  }
}
