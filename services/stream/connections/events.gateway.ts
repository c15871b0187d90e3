import { Inject } from '@nestjs/common';
import {
  WebSocketGateway,
  type OnGatewayConnection,
  type OnGatewayDisconnect,
  type OnGatewayInit,
} from '@nestjs/websockets';
import { refresh, streamCommands, subscribe, unsubscribe } from '../../../schemas/socket/stream-commands.ts';
import { STREAM_NAMESPACE } from '../../../schemas/socket/stream-messages.ts';
import { invalid, type Refusal } from '../../../shared/errors/refusal.ts';
import { holderKey } from '../../../shared/auth/holder-key.ts';
import type { Logger } from 'pino';
import { RateLimits, refuseExceeded } from '../../../shared/edge/limits/rate-limits.ts';
import { LOGGER } from '../../../shared/edge/tokens.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import type { SubscriptionCommands } from '../domain/subscriber.ts';
import type { StreamLimits } from '../edge/stream-limits.ts';
import type { StreamMetrics } from '../edge/stream-metrics.ts';
import { STREAM_LIMITS, STREAM_METRICS, SUBSCRIPTIONS } from '../edge/tokens.ts';
import { Admission } from './admission.ts';
import { commandRefusal, connectionRefusal, parseCommand, toLoggedRefusal } from './command-answer.ts';
import { SocketConnection } from './sockets/socket-connection.socketio.ts';
import { Connections } from './connections.ts';
import { Paced } from './paced.ts';
import { elsewhere, OpenSockets } from './sockets/open-sockets.socketio.ts';
import { WriteQueue } from './sockets/write-queue.ts';
import type { StreamNamespace, StreamSocket } from './sockets/stream-socket.socketio.ts';

const MESSAGE_BYTES_MAX = 64 * 1_024;
/** A socket that has not joined the namespace by then is closed. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Tokens that are verified concurrently: a crowd that connects waits for one another, and not those who are connected for it. */
const VERIFIED_AT_ONCE = 16;

type Acknowledge = ((answer: unknown) => void) | undefined;

/** Admits connections, and carries out the three commands. */
@WebSocketGateway({
  namespace: STREAM_NAMESPACE,
  transports: ['websocket'],
  serveClient: false,
  perMessageDeflate: false,
  maxHttpBufferSize: MESSAGE_BYTES_MAX,
  connectTimeout: CONNECT_TIMEOUT_MS,
})
export class EventsGateway
  implements OnGatewayInit<StreamNamespace>, OnGatewayConnection<StreamSocket>, OnGatewayDisconnect<StreamSocket>
{
  private readonly queue = new WriteQueue();
  private readonly paced = new Paced(VERIFIED_AT_ONCE);
  private readonly connectionBySocket = new WeakMap<StreamSocket, SocketConnection>();

  constructor(
    private readonly admission: Admission,
    private readonly openSockets: OpenSockets,
    private readonly connections: Connections,
    @Inject(SUBSCRIPTIONS) private readonly subscriptions: SubscriptionCommands,
    private readonly limits: RateLimits,
    @Inject(STREAM_METRICS) private readonly metrics: StreamMetrics,
    @Inject(STREAM_LIMITS) private readonly streamLimits: StreamLimits,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  afterInit(namespace: StreamNamespace): void {
    this.openSockets.watch(namespace.server.engine);
    namespace.use((socket, next) => {
      this.admit(socket).then(
        () => {
          this.metrics.accepts.add({ result: 'accepted' });
          next();
        },
        async (error: unknown) => {
          const refused = toLoggedRefusal(this.logger, error);
          const refusal = await this.openSockets.countRefusal(socket.conn, refused);
          this.metrics.accepts.add({ result: refusal.code });
          next(connectError(refusal));
          this.openSockets.closeRefused(socket.conn);
        },
      );
    });
    namespace.server.of('/').use((_socket, next) => {
      next(connectError(elsewhere()));
    });
  }

  handleConnection(socket: StreamSocket): void {
    const connection = new SocketConnection(socket, {
      queue: this.queue,
      metrics: this.metrics,
      limits: this.streamLimits,
    });
    this.connectionBySocket.set(socket, connection);
    this.connections.add(connection);
    // Nest's decorators would keep three pipelines of listeners for each socket, which take as much memory as the socket.
    socket.onAny((name: string, ...given: unknown[]) => {
      const last = given.at(-1);
      const acknowledge = isAcknowledge(last) ? last : undefined;
      const [first, ...more] = acknowledge ? given.slice(0, -1) : given;
      const payload = more.length > 0 ? [first, ...more] : first;
      if (isCommand(name)) void this[name](socket, payload, acknowledge);
      else void (acknowledge ? this.execute(socket, acknowledge, refuseUnknown) : this.countUnknown(connection));
    });
  }

  handleDisconnect(socket: StreamSocket): void {
    const connection = this.connectionBySocket.get(socket);
    if (!connection) return;
    this.connections.remove(connection);
    this.subscriptions.closeAll(connection);
  }

  private subscribe(socket: StreamSocket, payload: unknown, acknowledge: Acknowledge): Promise<void> {
    return this.execute(socket, acknowledge, (connection, answer) =>
      this.subscriptions.open(connection, parseCommand(subscribe, payload), (subscribed) => {
        answer(subscribed);
      }),
    );
  }

  private unsubscribe(socket: StreamSocket, payload: unknown, acknowledge: Acknowledge): Promise<void> {
    return this.execute(socket, acknowledge, (connection, answer) => {
      this.subscriptions.close(connection, parseCommand(unsubscribe, payload).subscriptionId);
      answer({ ok: true });
    });
  }

  private refresh(socket: StreamSocket, payload: unknown, acknowledge: Acknowledge): Promise<void> {
    return this.execute(socket, acknowledge, async (connection, answer) => {
      const caller = await this.admission.verify(parseCommand(refresh, payload).token);
      connection.replaceToken(caller);
      answer({ ok: true, expiresAt: toIso(caller.expiresAtMs) });
    });
  }

  /** Runs a command. Every error becomes an answer: no client input may throw any further. */
  private async execute(
    socket: StreamSocket,
    acknowledge: Acknowledge,
    command: (connection: SocketConnection, answer: (answer: object) => void) => Promise<void> | void,
  ): Promise<void> {
    const connection = this.connectionBySocket.get(socket);
    if (!connection) return;
    const answer = (given: object) => {
      connection.buffer.flush();
      acknowledge?.(given);
    };
    try {
      connection.countAnswer();
      await this.count(connection);
      await command(connection, answer);
    } catch (error) {
      answer(commandRefusal(toLoggedRefusal(this.logger, error)));
    }
  }

  private async admit(socket: StreamSocket): Promise<void> {
    const caller = await this.paced.run(() => this.admission.admit(socket.request, socket.handshake.auth));
    const holder = holderKey(caller);
    this.connections.reserve(holder, socket.id);
    this.openSockets.admitted(socket.conn);
    socket.conn.once('close', () => {
      this.connections.release(holder, socket.id);
    });
    socket.data.caller = caller;
  }

  /** Counts an event that is not a command, and gets no answer. */
  private async countUnknown(connection: SocketConnection): Promise<void> {
    try {
      await this.count(connection);
    } catch (error) {
      const { code, detail } = toLoggedRefusal(this.logger, error);
      connection.cut(`${code}: ${detail}`);
    }
  }

  /** @throws Refusal rate_limited */
  private async count(connection: SocketConnection): Promise<void> {
    refuseExceeded(await this.limits.count('streamCommand', connection.holderKey));
  }
}

const isCommand = (name: string): name is keyof typeof streamCommands => Object.hasOwn(streamCommands, name);
const isAcknowledge = (given: unknown): given is NonNullable<Acknowledge> => typeof given === 'function';

/** @throws Refusal validation_failed */
const refuseUnknown = (): never => {
  const message = `is not a command: these are ${Object.keys(streamCommands).join(', ')}`;
  throw invalid({ path: 'event', message });
};

const connectError = (refusal: Refusal): Error => {
  const data = connectionRefusal(refusal);
  return Object.assign(new Error(data.detail), { data });
};
