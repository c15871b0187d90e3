import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the system's ephemeral ports: any connection or server without a port of its own could take one of those. */
const PORTS = { first: 20_000, last: 32_000 } as const;

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });

/** Returns a port that was free a moment ago, as were the ports after it up to `count`, for servers that start later. */
export const freePort = async (count = 1): Promise<number> => {
  const first = randomInt(PORTS.first, PORTS.last);
  const free = await Promise.all(Array.from({ length: count }, (_, at) => isFree(first + at)));
  return free.every(Boolean) ? first : freePort(count);
};
