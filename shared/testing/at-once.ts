/** Connections that a server takes while it is busy: the rest of its backlog is for others. */
const CONNECTIONS_MAX = 400;

/**
 * Sends requests, the next whenever one is answered.
 * @param most of them at once; default: as many as a server takes connections
 */
export const atOnce = async <Answer>(
  count: number,
  send: (at: number) => Promise<Answer>,
  most = CONNECTIONS_MAX,
): Promise<Answer[]> => {
  const answers: Answer[] = [];
  let next = 0;
  const sender = async () => {
    for (let at = next++; at < count; at = next++) answers[at] = await send(at);
  };
  await Promise.all(Array.from({ length: Math.min(count, most) }, sender));
  return answers;
};
