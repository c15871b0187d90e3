/** What is answered within `withinMs`; `undefined` when nothing is, or an error. */
export const inTime = async <Answer>(
  ask: () => Answer | Promise<Answer>,
  withinMs: number,
): Promise<Answer | undefined> => {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, withinMs, undefined);
  try {
    return await Promise.race([ask(), late]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
};
