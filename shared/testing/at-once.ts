/** Connections that a server takes while it is busy: the rest of its backlog is for others. */
const CONNECTIONS_MAX = 400;

/** Sends requests, as many at once as a server takes connections, the next whenever one is answered. */
export const atOnce = async <Answer>(count: number, send: (at: number) => Promise<Answer>): Promise<Answer[]> => {
  const answers: Answer[] = [];
  let next = 0;
  const sender = async () => {
    for (let at = next++; at < count; at = next++) answers[at] = await send(at);
  };
  await Promise.all(Array.from({ length: Math.min(count, CONNECTIONS_MAX) }, sender));
  return answers;
};
