import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { pipeline, type Duplex } from 'node:stream';

const SAYS_HTTPS = { 'x-forwarded-proto': 'https' };

export interface TlsProxy {
  url: string;
  close: () => Promise<void>;
}

/** Replaces a proxy that ends TLS in front of a service in production: it reports `https` without encryption. */
export const startTlsProxy = async (target: string): Promise<TlsProxy> => {
  const sockets = new Set<Socket>();
  const server = createServer((incoming, outgoing) => {
    const { url = '/', method = 'GET', headers } = incoming;
    const forwarded = request(target + url, { method, headers: { ...headers, ...SAYS_HTTPS } }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      pipeline(answer, outgoing, () => undefined);
    });
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  server.on('connection', (socket) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)));
  });
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    const { hostname, port } = new URL(target);
    const other = connect({ host: hostname, port: Number(port) });
    const headers = Object.entries({ ...incoming.headers, ...SAYS_HTTPS }).map(
      ([name, value]) => `${name}: ${String(value)}\r\n`,
    );
    other.write(`GET ${incoming.url ?? '/'} HTTP/1.1\r\n${headers.join('')}\r\n`);
    other.write(head);
    pipeline(socket, other, socket, () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
};
