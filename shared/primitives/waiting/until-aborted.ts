/**
 * Returns the answer, or throws the signal's reason as soon as it aborts; without a signal waits for the answer. Clients
 * use it too, in browsers and Nodes that have no `Promise.withResolvers`.
 */
export const untilAborted = async <Answer>(
  answer: Promise<Answer>,
  signal: AbortSignal | undefined,
): Promise<Answer> => {
  if (!signal) return answer;
  let giveUp = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    giveUp = () => {
      reject(signal.reason as Error);
    };
  });
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([answer, aborted]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
};
