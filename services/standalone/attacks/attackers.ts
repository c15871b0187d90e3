import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** A loopback address that no other client uses. */
const ATTACKER = '127.0.0.2';

/** The text of a request, with a JSON body or without a body. */
export const requestText = (method: string, path: string, headers: Record<string, string> = {}, body = ''): string => {
  const ofBody =
    body === '' ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
  const fields = Object.entries({ host: 'annals', ...headers, ...ofBody }).map((pair) => pair.join(': '));
  return `${[`${method} ${path} HTTP/1.1`, ...fields].join('\r\n')}\r\n\r\n${body}`;
};

/** Connects from the attacker's address. A refused or cut connection is not a failure of the attack. */
export const attackerConnection = (url: string): Socket => {
  const { hostname, port } = new URL(url);
  return connect({ host: hostname, port: Number(port), localAddress: ATTACKER }).on('error', () => undefined);
};

/** Sends `text` on each connection, reads nothing, and leaves the connections open for that time. */
export const sendUnread = async (
  url: string,
  { connections, text, forMs }: { connections: number; text: string; forMs: number },
): Promise<void> => {
  const sockets = Array.from({ length: connections }, () => attackerConnection(url));
  for (const socket of sockets) socket.write(text);
  await pause(forMs);
  for (const socket of sockets) socket.destroy();
};

/** How often a flood looks whether it is over: a silent server gives it no other occasion. */
const LOOK_EVERY_MS = 100;

/**
 * Sends requests over several connections, each as fast as it is answered. Returns the number of answers by status.
 * @param everyMs minimum time between two requests of a connection
 * @param isEnough goes on beyond the time until the answers are enough
 */
export const flood = async (
  url: string,
  {
    connections,
    text,
    forMs,
    everyMs = 0,
    isEnough = () => true,
  }: {
    connections: number;
    text: string | (() => string);
    forMs: number;
    everyMs?: number;
    isEnough?: (answers: Readonly<Record<string, number>>) => boolean;
  },
): Promise<Record<string, number>> => {
  const next = typeof text === 'string' ? () => text : text;
  const answers: Record<string, number> = {};
  const endsAt = performance.now() + forMs;
  const isOver = () => performance.now() >= endsAt && isEnough(answers);
  const over = Promise.withResolvers<undefined>();
  const endIfOver = () => {
    if (isOver()) over.resolve(undefined);
  };
  const connectAgain = async (): Promise<void> => {
    while (!isOver()) {
      const socket = attackerConnection(url).setEncoding('latin1');
      const { promise: closed, resolve } = Promise.withResolvers<undefined>();
      socket.on('close', () => {
        resolve(undefined);
      });
      let askedAt = performance.now();
      const ask = () => {
        askedAt = performance.now();
        if (isOver()) socket.destroy();
        else socket.write(next());
      };
      socket.on('data', (received: string) => {
        for (const [, status = ''] of received.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
          answers[status] = (answers[status] ?? 0) + 1;
          endIfOver();
          if (everyMs === 0) ask();
          else setTimeout(ask, Math.max(0, askedAt + everyMs - performance.now()));
        }
      });
      ask();
      await Promise.race([closed, over.promise]);
      socket.destroy();
    }
  };
  const looking = setInterval(endIfOver, LOOK_EVERY_MS);
  await Promise.all(Array.from({ length: connections }, connectAgain));
  clearInterval(looking);
  return answers;
};
