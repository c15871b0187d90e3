/** For after an `await`: the compiler goes on believing what it saw of `signal.aborted` before. */
export const isAborted = (signal: AbortSignal): boolean => signal.aborted;
