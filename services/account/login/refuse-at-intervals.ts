/**
 * Does work whose refusal must not tell by its time why it was refused: it is given at a multiple of this time since the work
 * began. The timer starts before the work does, so that the work does not shift it.
 */
export const refuseAtIntervals = async <Result>(intervalMs: number, work: () => Promise<Result>): Promise<Result> => {
  let next = Promise.withResolvers<undefined>();
  const timer = setInterval(() => {
    next.resolve(undefined);
    next = Promise.withResolvers();
  }, intervalMs);
  try {
    return await work();
  } catch (error) {
    await next.promise;
    throw error;
  } finally {
    clearInterval(timer);
  }
};
