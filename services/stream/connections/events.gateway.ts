import { Inject, type BeforeApplicationShutdown } from '@nestjs/common';
import {
  Ack,
  ConnectedSocket,
  MessageBody,
  SubscribeMessage,
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
import { RateLimits, refuseExceeded } from '../../../shared/edge/rate-limits.ts';
import { LOGGER } from '../../../shared/edge/tokens.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import type { SubscriptionCommands } from '../domain/subscriber.ts';
import { SUBSCRIPTIONS } from '../edge/tokens.ts';
import { Admission } from './admission.ts';
import { commandRefusal, connectionRefusal, parseCommand, toLoggedRefusal } from './command-answer.ts';
import { Connection } from './connection.socketio.ts';
import { Connections } from './connections.ts';
import { elsewhere, OpenSockets } from './open-sockets.socketio.ts';
import type { StreamNamespace, StreamSocket } from './stream-socket.socketio.ts';

const MESSAGE_BYTES_MAX = 64 * 1_024;
/** A socket that has not joined the namespace by then is closed. */
const CONNECT_TIMEOUT_MS = 10_000;

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
  implements
    OnGatewayInit<StreamNamespace>,
    OnGatewayConnection<StreamSocket>,
    OnGatewayDisconnect<StreamSocket>,
    BeforeApplicationShutdown
{
  private readonly connectionBySocket = new WeakMap<StreamSocket, Connection>();

  constructor(
    private readonly admission: Admission,
    private readonly openSockets: OpenSockets,
    private readonly connections: Connections,
    @Inject(SUBSCRIPTIONS) private readonly subscriptions: SubscriptionCommands,
    private readonly limits: RateLimits,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  afterInit(namespace: StreamNamespace): void {
    this.openSockets.watch(namespace.server.engine);
    namespace.use((socket, next) => {
      this.admit(socket).then(
        () => {
          next();
        },
        async (error: unknown) => {
          const refusal = toLoggedRefusal(this.logger, error);
          next(connectError(await this.openSockets.countRefusal(socket.conn, refusal)));
          this.openSockets.closeRefused(socket.conn);
        },
      );
    });
    namespace.server.of('/').use((_socket, next) => {
      next(connectError(elsewhere()));
    });
  }

  handleConnection(socket: StreamSocket): void {
    const connection = new Connection(socket);
    this.connectionBySocket.set(socket, connection);
    this.connections.add(connection);
    socket.onAny((name: string, ...given: unknown[]) => {
      if (Object.hasOwn(streamCommands, name)) return;
      const last = given.at(-1);
      void (isAcknowledge(last) ? this.execute(socket, last, refuseUnknown) : this.countUnknown(connection));
    });
  }

  handleDisconnect(socket: StreamSocket): void {
    const connection = this.connectionBySocket.get(socket);
    if (!connection) return;
    this.connections.remove(connection);
    this.subscriptions.closeAll(connection);
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.connections.drain();
  }

  @SubscribeMessage('subscribe')
  subscribe(@ConnectedSocket() socket: StreamSocket, @MessageBody() payload: unknown, @Ack() acknowledge: Acknowledge) {
    return this.execute(socket, acknowledge, (connection, answer) =>
      this.subscriptions.open(connection, parseCommand(subscribe, payload), answer),
    );
  }

  @SubscribeMessage('unsubscribe')
  unsubscribe(
    @ConnectedSocket() socket: StreamSocket,
    @MessageBody() payload: unknown,
    @Ack() acknowledge: Acknowledge,
  ) {
    return this.execute(socket, acknowledge, (connection, answer) => {
      this.subscriptions.close(connection, parseCommand(unsubscribe, payload).subscriptionId);
      answer({ ok: true });
    });
  }

  @SubscribeMessage('refresh')
  refresh(@ConnectedSocket() socket: StreamSocket, @MessageBody() payload: unknown, @Ack() acknowledge: Acknowledge) {
    return this.execute(socket, acknowledge, async (connection, answer) => {
      const caller = await this.admission.verify(parseCommand(refresh, payload).token);
      connection.replaceToken(caller);
      answer({ ok: true, expiresAt: toIso(caller.expiresAtMs) });
    });
  }

  /** Runs a command. Every error becomes an answer: nothing that a client sends may throw any further. */
  private async execute(
    socket: StreamSocket,
    acknowledge: Acknowledge,
    command: (connection: Connection, answer: (answer: object) => void) => Promise<void> | void,
  ): Promise<void> {
    const answer = acknowledge ?? (() => undefined);
    try {
      const connection = this.connectionBySocket.get(socket);
      if (!connection) return;
      connection.countAnswer();
      await this.count(connection);
      await command(connection, answer);
    } catch (error) {
      answer(commandRefusal(toLoggedRefusal(this.logger, error)));
    }
  }

  private async admit(socket: StreamSocket): Promise<void> {
    const caller = await this.admission.admit(socket.request, socket.handshake.auth);
    const holder = holderKey(caller);
    this.connections.reserve(holder, socket.id);
    this.openSockets.admitted(socket.conn);
    socket.conn.once('close', () => {
      this.connections.release(holder, socket.id);
    });
    socket.data.caller = caller;
  }

  /** Counts an event that is no command, and wants no answer. */
  private async countUnknown(connection: Connection): Promise<void> {
    try {
      await this.count(connection);
    } catch (error) {
      const { code, detail } = toLoggedRefusal(this.logger, error);
      connection.cut(`${code}: ${detail}`);
    }
  }

  /** @throws Refusal rate_limited */
  private async count(connection: Connection): Promise<void> {
    refuseExceeded(await this.limits.count('streamCommand', connection.holderKey));
  }
}

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
