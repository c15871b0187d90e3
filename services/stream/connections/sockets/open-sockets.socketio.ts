import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket as TcpSocket } from 'node:net';
import type { Server, Socket } from 'socket.io';
import { STREAM_NAMESPACE } from '../../../../schemas/socket/stream-messages.ts';
import { problemHeaders, problemOf, refusalOf } from '../../../../shared/edge/answers/problem-document.ts';
import { addressKey, refuseExceeded, type RateLimits } from '../../../../shared/edge/limits/rate-limits.ts';
import { invalid, Refusal } from '../../../../shared/errors/refusal.ts';
import type { Ids } from '../../../../shared/primitives/ids.ts';
import type { StreamLimits } from '../../edge/stream-limits.ts';
import type { StreamMetrics } from '../../edge/stream-metrics.ts';
import { AtATime } from '../at-a-time.ts';
import { countRefusal } from '../count-refusal.ts';
import { Paced } from '../paced.ts';
import { PacketCount } from './packet-count.ts';
import type { TrustedProxies } from '../trusted-proxies.ts';

/** RFC 6455, section 7.4.1. */
const POLICY_VIOLATION = 1008;
/** How long the last messages may take to reach a disconnected client. */
const FLUSH_MS = 1_000;
/** Maximum unsent bytes of pongs, for a client that sends WebSocket pings without reading. */
const PONG_BYTES_UNREAD_MAX = 2 * 1_024 * 1_024;
/** Handshakes take some milliseconds together. Other clients wait for no more, whatever crowd connects. */
const HANDSHAKES_PER_TICK = 16;
const USE_WEBSOCKET = 'connect over WebSocket: give your client the option transports: ["websocket"]';

/** A socket of Engine.IO, below Socket.IO: it has no token yet, and its packets are not decoded. */
type EngineSocket = Socket['conn'];

interface WebSocket {
  readonly bufferedAmount: number;
  on: (event: 'ping', listener: () => void) => void;
  pause: () => void;
  close: (code: number, reason: string) => void;
}

/** The handshake, as Engine.IO completes it. */
type Handshake = IncomingMessage & { _query: { sid?: string }; websocket: WebSocket };

interface OpenSocketsOptions {
  limits: RateLimits;
  streamLimits: StreamLimits;
  proxies: TrustedProxies;
  ids: Ids;
  metrics: Pick<StreamMetrics, 'accepts'>;
}

/**
 * Limits that Socket.IO lacks: who may open a socket, how often a socket connects to a namespace, and how many packets
 * it sends, before any of them is decoded.
 */
export class OpenSockets {
  /** The sockets of each address that have not been admitted. */
  private readonly waiting: AtATime<TcpSocket>;
  private readonly handshakes = new Paced(HANDSHAKES_PER_TICK);

  constructor(private readonly options: OpenSocketsOptions) {
    this.waiting = new AtATime(
      options.streamLimits.waitingSocketsPerAddress,
      'sockets of an address that have not connected',
    );
  }

  watch(engine: Server['engine']): void {
    engine.use((handshake: Handshake, response: ServerResponse, next: () => void) => {
      this.admitHandshake(handshake).then(next, (error: unknown) => {
        const refusal = refusalOf(error);
        this.options.metrics.accepts.add({ result: refusal.code });
        answerProblem(handshake, response, refusal, this.options.ids.token(20));
      });
    });
    engine.on('connection', (socket: EngineSocket) => {
      this.watchPackets(socket);
    });
  }

  /** To be called when the socket's token is valid: from now on the socket counts as its user's. */
  admitted({ request }: EngineSocket): void {
    this.waiting.delete(this.addressOf(request), request.socket);
  }

  /** Counts a refused connection against its address. @returns the reason to give */
  countRefusal({ request }: EngineSocket, refusal: Refusal): Promise<Refusal> {
    return countRefusal(this.options.limits, this.addressOf(request), refusal);
  }

  /** Closes the socket after the refusal, which Socket.IO sends in this tick. */
  closeRefused(socket: EngineSocket): void {
    setImmediate(() => {
      socket.close();
      destroyLater(socket);
    });
  }

  /** @throws Refusal rate_limited, validation_failed */
  private async admitHandshake(handshake: Handshake): Promise<void> {
    const address = this.addressOf(handshake);
    refuseExceeded(await this.options.limits.count('address', address));
    if (handshake.headers.upgrade === undefined) throw invalid({ path: 'transport', message: USE_WEBSOCKET });
    if (handshake._query.sid !== undefined)
      throw invalid({ path: 'sid', message: 'cannot be resumed: open a new socket' });
    const { socket } = handshake;
    this.waiting.add(address, socket);
    socket.once('close', () => {
      this.waiting.delete(address, socket);
    });
    await this.handshakes.run(() => Promise.resolve());
  }

  private watchPackets(socket: EngineSocket): void {
    const { points, seconds } = this.options.streamLimits.packetsPerSocket;
    const count = new PacketCount(points, seconds);
    let hasConnected = false;
    const isCutForTooMany = (): boolean => {
      if (!count.exceeds(performance.now())) return false;
      cut(socket, `rate_limited: ${String(points)} packets per ${String(seconds)} s are allowed`);
      return true;
    };
    socket.on('packet', ({ type, data }: { type: string; data?: unknown }) => {
      if (isCutForTooMany() || type !== 'message' || !isConnectPacket(data)) return;
      if (hasConnected) {
        cut(socket, 'a socket sends one CONNECT packet');
        return;
      }
      hasConnected = true;
      if (isForTheStream(data)) return;
      void this.countRefusal(socket, elsewhere());
      this.closeRefused(socket);
    });
    const { websocket } = handshakeOf(socket);
    websocket.on('ping', () => {
      if (!isCutForTooMany() && websocket.bufferedAmount > PONG_BYTES_UNREAD_MAX) destroy(socket);
    });
  }

  private addressOf(handshake: IncomingMessage): string {
    return addressKey(this.options.proxies.addressOf(handshake));
  }
}

/** The refusal of a client that connects to another namespace than that of the stream. */
export const elsewhere = (): Refusal =>
  new Refusal('forbidden', `connect to the namespace ${STREAM_NAMESPACE}: append it to the address of the stream`);

/** Closes at once with a reason that the client reads in the closing frame, and stops reading. */
export const cut = (socket: EngineSocket, reason: string): void => {
  const { websocket } = handshakeOf(socket);
  websocket.close(POLICY_VIOLATION, reason);
  websocket.pause();
  socket.close(true);
  destroyLater(socket);
};

/** Closes at once, and drops unsent data: a closing handshake would wait until the client reads. */
export const destroy = (socket: EngineSocket): void => {
  socket.request.socket.destroy();
};

export const destroyLater = (socket: EngineSocket): void => {
  setTimeout(() => {
    destroy(socket);
  }, FLUSH_MS).unref();
};

const handshakeOf = ({ request }: EngineSocket): Handshake => request as Handshake;

const isConnectPacket = (data: unknown): data is string => typeof data === 'string' && data.startsWith('0');

const isForTheStream = (packet: string): boolean =>
  packet === `0${STREAM_NAMESPACE}` || packet.startsWith(`0${STREAM_NAMESPACE},`);

/** Answers a refused handshake, with or without a WebSocket. */
const answerProblem = (
  handshake: IncomingMessage,
  given: ServerResponse | object,
  refusal: Refusal,
  requestId: string,
): void => {
  const { socket } = handshake;
  const problem = problemOf(refusal, requestId);
  const response = given instanceof ServerResponse ? given : new ServerResponse(handshake);
  if (response !== given) {
    socket.on('error', () => undefined);
    response.assignSocket(socket);
    response.on('finish', () => {
      socket.destroySoon();
    });
  }
  response.writeHead(problem.status, {
    ...problemHeaders(problem),
    'x-request-id': requestId,
    'cache-control': 'no-store',
    connection: 'close',
    // Without this header, the browser would not let a page read the reason.
    'access-control-allow-origin': '*',
  });
  response.end(JSON.stringify(problem));
};
