/** For use after an `await`: the compiler assumes that `signal.aborted` is still what an earlier check saw. */
export const isAborted = (signal: AbortSignal): boolean => signal.aborted;
