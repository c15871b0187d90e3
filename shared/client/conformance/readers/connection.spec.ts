import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { Server } from 'socket.io';
import { eventually } from '../../../testing/eventually.ts';
import { Connection } from './connection.socketio.ts';

/** Far longer than a busy machine takes. */
const WITHIN_MS = 3_600_000;

it('is told of the end by a command to a node that let the connection in and ended it at once', async () => {
  const http = createServer();
  const node = new Server(http);
  node.of('/events').on('connection', (socket) => socket.disconnect());
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  const streamUrl = `http://127.0.0.1:${String(port)}`;
  const { connection } = await Connection.open({ streamUrl, token: 'any', origin: undefined, withinMs: WITHIN_MS });
  const ended = connection.subscription(null);
  await eventually(() => ended.ended, WITHIN_MS, 'the node must end the connection');
  expect(await connection.command('subscribe', {})).toEqual({ disconnected: 'io server disconnect' });
  await node.close();
});
