import { connect } from 'node:net';

/** A connection to write HTTP byte by byte; `answer` is everything received until the other side closed it. */
export const rawConnection = (url: string) => {
  const { hostname, port } = new URL(url);
  const { promise: answer, resolve, reject } = Promise.withResolvers<string>();
  let received = '';
  const socket = connect(Number(port), hostname);
  socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
  socket.on('close', () => {
    resolve(received);
  });
  socket.on('error', reject);
  return { write: (bytes: string) => socket.write(bytes), reset: () => socket.resetAndDestroy(), answer };
};
