import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket as TcpSocket } from 'node:net';
import type { Server, Socket } from 'socket.io';
import { problemCatalogue } from '../../../schemas/http/problem.ts';
import { STREAM_NAMESPACE } from '../../../schemas/socket/stream-messages.ts';
import { problemHeaders, problemOf, refusalOf } from '../../../shared/edge/problem-document.ts';
import { addressKey, refuseExceeded, type RateLimits } from '../../../shared/edge/rate-limits.ts';
import { invalid, Refusal } from '../../../shared/errors/refusal.ts';
import type { Ids } from '../../../shared/primitives/ids.ts';
import type { StreamLimits } from '../edge/stream-limits.ts';
import { AtATime } from './at-a-time.ts';
import { PacketCount } from './packet-count.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

/** RFC 6455, section 7.4.1. */
const POLICY_VIOLATION = 1008;
/** How long the last messages may take to reach a client that is disconnected. */
const FLUSH_MS = 1_000;
/** How much may wait for a client that sends WebSocket pings: each is answered. */
const PONG_BYTES_UNREAD_MAX = 2 * 1_024 * 1_024;
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
}

/**
 * Bounds what Socket.IO does not: who may open a socket, how often a socket connects to a namespace, and how many
 * packets it sends, before any of them is decoded.
 */
export class OpenSockets {
  /** The sockets of each address that have not been admitted. */
  private readonly waiting: AtATime<TcpSocket>;

  constructor(private readonly options: OpenSocketsOptions) {
    this.waiting = new AtATime(
      options.streamLimits.waitingSocketsPerAddress,
      'sockets of an address that have not connected',
    );
  }

  watch(engine: Server['engine']): void {
    engine.use((handshake: Handshake, response: ServerResponse, next: () => void) => {
      this.admitHandshake(handshake).then(next, (error: unknown) => {
        answerProblem(handshake, response, refusalOf(error), this.options.ids.token(20));
      });
    });
    engine.on('connection', (socket: EngineSocket) => {
      this.watchPackets(socket);
    });
  }

  /** The socket's token is good: from now on it counts as its user's. */
  admitted({ request }: EngineSocket): void {
    this.waiting.delete(this.addressOf(request), request.socket);
  }

  /** Counts a refused connection against its address. @returns the reason to give, which is `rate_limited` for one too many */
  async countRefusal({ request }: EngineSocket, refusal: Refusal): Promise<Refusal> {
    if (problemCatalogue[refusal.code].status >= 500) return refusal;
    try {
      refuseExceeded(await this.options.limits.count('login', this.addressOf(request)));
      return refusal;
    } catch (error) {
      return refusalOf(error);
    }
  }

  /** Closes once the refusal, which Socket.IO sends in this tick of the event loop, has been sent. */
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
    if (handshake._query.sid !== undefined) throw invalid({ path: 'sid', message: 'a socket is opened anew' });
    const { socket } = handshake;
    this.waiting.add(address, socket);
    socket.once('close', () => {
      this.waiting.delete(address, socket);
    });
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

/** Closes at once with a reason that the client reads in the closing frame, and reads nothing more of what it sends. */
export const cut = (socket: EngineSocket, reason: string): void => {
  const { websocket } = handshakeOf(socket);
  websocket.close(POLICY_VIOLATION, reason);
  websocket.pause();
  socket.close(true);
  destroyLater(socket);
};

/** Closes at once, and drops what waits for the client: a closing handshake would wait until the client reads. */
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

/** Answers a handshake that is refused, also one for which there is no WebSocket yet. */
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
    // A page that its browser would not let read this would never learn what to do.
    'access-control-allow-origin': '*',
  });
  response.end(JSON.stringify(problem));
};
