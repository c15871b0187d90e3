/** As many as are answered within the time of a request, also where a busy machine answers only twenty a second. */
const IN_FLIGHT = 50;

/**
 * Sends requests concurrently, the next one whenever one is answered.
 * @param most concurrent requests
 */
export const atOnce = async <Answer>(
  count: number,
  send: (at: number) => Promise<Answer>,
  most = IN_FLIGHT,
): Promise<Answer[]> => {
  const answers: Answer[] = [];
  let next = 0;
  const sender = async () => {
    for (let at = next++; at < count; at = next++) answers[at] = await send(at);
  };
  await Promise.all(Array.from({ length: Math.min(count, most) }, sender));
  return answers;
};
