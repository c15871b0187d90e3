import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { invalid, Refusal } from '../../errors/refusal.ts';
import { addressAsksTooOften, limitedAtATime } from '../limits/rate-limits.ts';

/** Timeouts for the headers of a request, and for the whole request. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the usual 60 s of proxies, so that the proxy closes an idle connection first. */
const KEEP_ALIVE_MS = 72_000;
const TIMEOUTS_CHECKED_EVERY_MS = 1_000;
/** A connection without traffic is cut, also if the client does not read what is sent. */
const IDLE_TIMEOUT_MS = 30_000;
const HEAD = 'HEAD ';

interface Connection {
  address: string;
  /** The answers in progress, with callbacks for the end of each. */
  underWay: Map<ServerResponse, (() => void)[]>;
  /** The connection is closed after the answers in progress. */
  isClosing: boolean;
  /** Number of later requests, which are counted but not answered. */
  dropped: number;
}

interface HttpConnectionsOptions {
  requestsMax: number;
  /** Of one address. */
  connectionsMax: number;
  /** Whether the connections of an address belong to many callers. */
  isProxy: (address: string) => boolean;
  /** Counts requests of an address. Returns whether the limit is exceeded. */
  count: (address: string, requests: number) => Promise<boolean>;
  /** Whether an address has already exceeded its limit. */
  isExceeded: (address: string) => Promise<boolean>;
  /** Answers on a connection whose request is not read, and ends the connection. */
  refuse: (socket: Socket, refusal: Refusal, isHead?: boolean) => void;
}

/**
 * Limits what clients keep open. Node passes on all requests that it has read at once, and buffers their answers until
 * earlier ones are read. So more than a few requests on one connection are refused, and then the connection is closed.
 */
export class HttpConnections {
  private readonly connections = new WeakMap<Socket, Connection>();
  private readonly byAddress = new Map<string, Set<Socket>>();
  private readonly refusals = new WeakMap<IncomingMessage, Refusal>();

  constructor(private readonly options: HttpConnectionsOptions) {}

  /** Makes the server whose connections are tracked. */
  serve(listener: RequestListener): Server {
    const options = {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: TIMEOUTS_CHECKED_EVERY_MS,
    };
    const receive: RequestListener = (request, response) => {
      if (this.begin(request, response)) listener(request, response);
    };
    const server = createServer(options, receive).setTimeout(IDLE_TIMEOUT_MS);
    server.on('connection', (socket: Socket) => {
      this.accept(socket);
    });
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      const path = 'expect';
      const detail = 'only 100-continue can be expected';
      this.refusals.set(request, new Refusal('validation_failed', detail, { errors: [{ path, message: detail }] }));
      receive(request, response);
    });
    // A server without upgrade listeners answers upgrades as requests.
    server.once('listening', () => {
      if (server.listenerCount('upgrade') === 0) return;
      server.prependListener('upgrade', (_request: IncomingMessage, socket: Socket) => {
        this.forget(socket);
      });
    });
    return server;
  }

  /** Returns why a request that was read must be refused. Its connection is closed after the answer. */
  refusalOf(request: IncomingMessage): Refusal | undefined {
    return this.refusals.get(request);
  }

  /**
   * Refuses bytes that are not a request, or a request that stays incomplete. A request that was read before gets its
   * own answer, which must be the last on the connection.
   * @param bytes what was read last
   */
  refuseUnreadable(socket: Socket, refusal: Refusal, bytes: unknown): void {
    const connection = this.connections.get(socket);
    const newest = [...(connection?.underWay.keys() ?? [])].at(-1);
    if (connection?.isClosing || newest?.headersSent) {
      socket.destroySoon();
    } else if (connection && newest?.req.complete) {
      connection.isClosing = true;
      newest.shouldKeepAlive = false;
    } else {
      this.options.refuse(socket, refusal, Buffer.isBuffer(bytes) && bytes.indexOf(HEAD) === 0);
    }
  }

  /** Calls back once an answer was sent, or its connection is closed. */
  whenEnded(response: ServerResponse, callback: () => void): void {
    const callbacks = this.connections.get(response.req.socket)?.underWay.get(response);
    if (callbacks) callbacks.push(callback);
    else callback();
  }

  private accept(socket: Socket): void {
    const { connectionsMax, isProxy, isExceeded, refuse } = this.options;
    const address = socket.remoteAddress ?? '';
    const connection: Connection = { address, underWay: new Map(), isClosing: false, dropped: 0 };
    this.connections.set(socket, connection);
    socket.once('close', () => {
      this.forget(socket);
      for (const response of connection.underWay.keys()) this.end(connection, response);
    });
    if (isProxy(address)) return;
    const others = this.byAddress.get(address) ?? new Set();
    if (others.size >= connectionsMax) {
      refuse(socket, limitedAtATime(`${String(connectionsMax)} connections`));
      return;
    }
    this.byAddress.set(address, others.add(socket));
    void isExceeded(address).then((exceeded) => {
      if (exceeded) refuse(socket, addressAsksTooOften());
    });
  }

  /** Returns whether the request is to be answered. */
  private begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { requestsMax } = this.options;
    const { socket } = request;
    const connection = this.connections.get(socket);
    if (!connection) throw new Error('a request came on a connection that was not accepted');
    if (connection.isClosing) {
      this.drop(socket, connection);
      return false;
    }
    connection.underWay.set(response, []);
    response.once('close', () => {
      connection.isClosing ||= !response.shouldKeepAlive;
      this.end(connection, response);
    });
    if (request.rawHeaders.filter((name, at) => at % 2 === 0 && /^host$/i.test(name)).length > 1) {
      // RFC 9112, 3.2: a proxy in front may have routed by the other header.
      connection.isClosing = true;
      this.refusals.set(request, invalid({ path: 'host', message: 'is there more than once' }));
    }
    if (connection.underWay.size > requestsMax) {
      connection.isClosing = true;
      this.refusals.set(request, limitedAtATime(`${String(requestsMax)} requests on one connection`));
    }
    return true;
  }

  private end({ underWay }: Connection, response: ServerResponse): void {
    const callbacks = underWay.get(response);
    underWay.delete(response);
    for (const callback of callbacks ?? []) callback();
  }

  /** Counts after Node has passed on everything that it has read. */
  private drop(socket: Socket, connection: Connection): void {
    connection.dropped += 1;
    if (connection.dropped > 1) return;
    queueMicrotask(() => {
      const { address, dropped } = connection;
      connection.dropped = 0;
      if (this.options.isProxy(address)) socket.destroy();
      else void this.countDropped(socket, address, dropped);
    });
  }

  /** Cuts the connections of an address that sends so many requests: each may bring as many again. */
  private async countDropped(socket: Socket, address: string, dropped: number): Promise<void> {
    if (!(await this.options.count(address, dropped))) return;
    socket.destroy();
    for (const other of this.byAddress.get(address) ?? []) {
      if (this.connections.get(other)?.underWay.size === 0) other.destroy();
    }
  }

  private forget(socket: Socket): void {
    const address = this.connections.get(socket)?.address ?? '';
    const sockets = this.byAddress.get(address);
    sockets?.delete(socket);
    if (sockets?.size === 0) this.byAddress.delete(address);
  }
}
