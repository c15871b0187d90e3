import { once } from 'node:events';
import { connect } from 'node:net';

/**
 * A connection to write HTTP byte by byte; `answer` is everything received until the other side closed it.
 * @param localAddress default: the system's choice
 */
export const rawConnection = (url: string, localAddress?: string) => {
  const { hostname, port } = new URL(url);
  const { promise: answer, resolve, reject } = Promise.withResolvers<string>();
  let received = '';
  const socket = connect({ port: Number(port), host: hostname, localAddress });
  socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
  socket.on('close', () => {
    resolve(received);
  });
  socket.on('error', reject);
  const opened = once(socket, 'connect');
  opened.catch(reject);
  return {
    opened,
    received: () => received,
    write: (bytes: string) => socket.write(bytes),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    reset: () => socket.resetAndDestroy(),
    answer,
  };
};
