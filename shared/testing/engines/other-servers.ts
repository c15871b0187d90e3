import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Starts servers that listen where an engine is expected: one that never answers, and a web server. */
export const startOtherServers = async () => {
  const sockets = new Set<Socket>();
  const servers: Server[] = [];
  const start = async (server: Server): Promise<string> => {
    servers.push(server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined))));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  };
  return {
    silent: await start(createServer()),
    web: await start(createHttpServer((_, answer) => answer.end('hello'))),
    close: () => {
      for (const socket of sockets) socket.destroy();
      for (const server of servers) server.close();
    },
  };
};
