/** Returns the answer, or throws the signal's reason as soon as it aborts. */
export const untilAborted = async <Answer>(answer: Promise<Answer>, signal: AbortSignal): Promise<Answer> => {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const giveUp = () => {
    reject(signal.reason instanceof Error ? signal.reason : new Error('stopped'));
  };
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([answer, aborted]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
};
