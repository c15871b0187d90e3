/** A call was given up after its time; what it did is not known. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/** Waits for a promise, but no longer than that: the promise goes on unobserved. @throws DeadlineExceeded */
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
