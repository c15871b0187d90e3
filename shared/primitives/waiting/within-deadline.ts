/** A call was given up after its deadline. Its outcome is unknown. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/**
 * Waits for a promise, at most for that time. Does not cancel the promise, and ignores its outcome after the deadline.
 * @throws DeadlineExceeded
 */
export const withinDeadline = async <Result>(
  what: string,
  timeoutMs: number,
  promise: Promise<Result>,
): Promise<Result> => {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new DeadlineExceeded(`${what} had no answer within ${String(timeoutMs)} ms`));
  }, timeoutMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
};
