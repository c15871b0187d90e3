import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { Server, type Socket } from 'socket.io';
import { io, type Socket as Upstream } from 'socket.io-client';
import type { StreamPage } from '../../../../schemas/http/stream/stream-routes.ts';
import type { StreamEvent } from '../../../../schemas/socket/stream-messages.ts';

/** What a node does wrong. What is left out it does right. */
export interface Fault {
  /** What a socket is sent in place of an event. */
  event?: (event: StreamEvent) => StreamEvent[];
  /** What is sent in place of a server-sent event. */
  block?: (block: string) => string[];
  page?: (page: StreamPage) => StreamPage;
  withoutHeader?: string;
  /** What is sent upstream in place of a command of a socket. */
  command?: (payload: Record<string, unknown>) => Record<string, unknown>;
  ignoresOrigin?: boolean;
}

/** A node that passes everything on to another one, and back, with a fault of its own. */
export class FaultyNode {
  fault: Fault = {};
  private readonly sockets: Server;
  private readonly server = createServer((request, response) => {
    this.answer(request, response).catch(() => response.destroy());
  });

  private constructor(private readonly upstreamUrl: string) {
    // Answers a handshake by polling as any Socket.IO server does: without the sentence that helps.
    this.sockets = new Server(this.server, { transports: ['websocket'] });
    this.sockets.of('/events').use((socket, next) => {
      this.connect(socket, next);
    });
  }

  static async start(upstreamUrl: string): Promise<FaultyNode> {
    const node = new FaultyNode(upstreamUrl);
    node.server.listen(0, '127.0.0.1');
    await once(node.server, 'listening');
    return node;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await this.sockets.close();
  }

  /** Returns the header as the other node would see it: an own origin is its own there. */
  private originOf({ headers }: IncomingMessage): { origin?: string } {
    const { origin } = headers;
    if (origin === undefined || this.fault.ignoresOrigin) return {};
    return { origin: origin === this.url ? this.upstreamUrl : origin };
  }

  private connect(socket: Socket, next: (error?: Error) => void): void {
    const upstream = io(`${this.upstreamUrl}/events`, {
      ...{ transports: ['websocket'], forceNew: true, reconnection: false, auth: socket.handshake.auth },
      extraHeaders: this.originOf(socket.request),
    });
    upstream.once('connect_error', next);
    upstream.once('connect', () => {
      this.passOn(socket, upstream);
      next();
    });
  }

  private passOn(socket: Socket, upstream: Upstream): void {
    const { event = (same: StreamEvent) => [same], command = (same: Record<string, unknown>) => same } = this.fault;
    upstream.onAny((name: string, payload: StreamEvent) => {
      for (const sent of name === 'event' ? event(payload) : [payload]) socket.emit(name, sent);
    });
    socket.onAny((name: string, payload: unknown, answer: (given: unknown) => void) => {
      const isObject = typeof payload === 'object' && payload !== null;
      upstream.emit(name, isObject ? command({ ...payload }) : payload, answer);
    });
    upstream.on('disconnect', () => socket.disconnect());
    socket.on('disconnect', () => upstream.disconnect());
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { origin: _, host: _host, connection: _connection, ...headers } = request.headers;
    const leaving = new AbortController();
    response.on('close', () => {
      leaving.abort();
    });
    const answer = await fetch(this.upstreamUrl + (request.url ?? ''), {
      headers: { ...(headers as Record<string, string>), ...this.originOf(request) },
      signal: leaving.signal,
    });
    const { withoutHeader, page, block } = this.fault;
    const sent = new Headers(answer.headers);
    for (const name of ['content-length', 'transfer-encoding', 'connection', withoutHeader])
      if (name !== undefined) sent.delete(name);
    response.writeHead(answer.status, Object.fromEntries(sent));
    response.flushHeaders();
    if (answer.headers.get('content-type') === 'text/event-stream' && answer.body)
      await sendBlocks(answer.body, response, block ?? ((same) => [same]));
    else {
      const text = await answer.text();
      const isPage = page && answer.status === 200 && request.url?.startsWith('/api/v1/stream');
      response.end(isPage ? JSON.stringify(page(JSON.parse(text) as StreamPage)) : text);
    }
  }
}

const sendBlocks = async (
  body: AsyncIterable<Uint8Array>,
  response: ServerResponse,
  inPlaceOf: (block: string) => string[],
): Promise<void> => {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of body) {
    const blocks = (text + decoder.decode(piece, { stream: true })).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks.flatMap(inPlaceOf)) response.write(`${block}\n\n`);
  }
  response.end();
};
