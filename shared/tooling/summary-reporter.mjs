/** Ends a run with one plain line for whoever reads only that. A spec file that cannot even be loaded is a failure. */
export default class SummaryReporter {
  /**
   * @param {unknown} _contexts
   * @param {Record<'numPassedTests' | 'numFailedTests' | 'numPendingTests' | 'numTodoTests' | 'numRuntimeErrorTestSuites', number>} results
   */
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    const line = `${String(results.numPassedTests)} passed, ${String(failed)} failed${skipped > 0 ? `, ${String(skipped)} skipped` : ''}`;
    // Not at once: jest's own summary comes after every reporter.
    process.once('exit', () => {
      console.log(line);
    });
  }
}
