import { jest } from '@jest/globals';

/**
 * How often a spec that failed is run again, where a run asks for it: a machine that runs everything at once may leave a
 * server without an answer for longer than a request waits. Each failure is printed.
 */
const retries = Number(process.env['SPEC_RETRIES'] ?? 0);
if (retries > 0) jest.retryTimes(retries, { logErrorsBeforeRetry: true, waitBeforeRetry: 2_000 });
