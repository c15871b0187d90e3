import { once } from 'node:events';
import { createServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import gossip from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { DeleteResp, TombstoneResp } from '@eventstore/db-client/generated/streams_pb.js';
import {
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  status,
  type handleUnaryCall,
  type sendUnaryData,
  type Metadata,
  type ServerInterceptor,
  type ServiceError,
} from '@grpc/grpc-js';
import { EventLog } from './event-log.ts';
import { Faults } from './faults.ts';
import { clusterInfo, supportedMethods } from './node-services.esdb.ts';
import { Reading, type ReadCall } from './reading.esdb.ts';
import { encodeEvent, namedError } from './wire.esdb.ts';
import { Writing, type DeleteCall, type TombstoneCall } from './writing.esdb.ts';

export interface EventStoreServerOptions {
  /** Default: 0, any free port. */
  port?: number;
  host?: string;
  /** PEM. Without it the server does not use TLS. */
  tls?: { certificate: string; key: string };
  /** `user:password` of the only accepted client; without it, all are accepted. */
  credentials?: string;
}

/** The default limit of a real server. */
const APPEND_BYTES_MAX = 1_048_576;

/**
 * Replaces EventStoreDB in tests: accepts the calls of `@eventstore/db-client`, decides as a single node of version 24
 * does, and fails on request. It keeps everything in memory.
 */
export class EventStoreServer {
  readonly faults = new Faults();
  private readonly log = new EventLog(encodeEvent, () => Date.now() + this.faults.clockAheadMs);
  private readonly connections = new Set<Socket>();
  private readonly grpc: Server;
  private readonly listener: TcpServer;
  private readonly host: string;
  private readonly options: EventStoreServerOptions;
  private readonly openSubscriptions = new Set<Reading>();
  private boundPort = 0;
  private given = 0;

  private constructor(options: EventStoreServerOptions) {
    this.options = options;
    this.writeSystemEvent('$users', '$UserCreated');
    this.host = options.host ?? '127.0.0.1';
    this.grpc = new Server({ 'grpc.max_receive_message_length': -1, interceptors: [this.admission()] });
    this.addServices();
    const { tls } = options;
    const injector = this.grpc.createConnectionInjector(
      tls
        ? ServerCredentials.createSsl(null, [
            { cert_chain: Buffer.from(tls.certificate), private_key: Buffer.from(tls.key) },
          ])
        : ServerCredentials.createInsecure(),
    );
    this.listener = createServer({ noDelay: true }, (socket) => {
      this.connections.add(socket);
      socket.on('close', () => this.connections.delete(socket));
      injector.injectConnection(socket);
    });
  }

  static async start(options: EventStoreServerOptions = {}): Promise<EventStoreServer> {
    const server = new EventStoreServer(options);
    await server.listen(options.port ?? 0);
    return server;
  }

  get port(): number {
    return this.boundPort;
  }

  /** The number of events sent to readers and subscribers. */
  get eventsGiven(): number {
    return this.given;
  }

  /** Number of open subscriptions. */
  get subscriptions(): number {
    return this.openSubscriptions.size;
  }

  /** Writes an event of the server's own, as a real one does now and then: the newest of `$all` is often one. */
  writeStatistics(): void {
    this.writeSystemEvent('$stats-127.0.0.1:2113', '$statsCollected');
  }

  /** For clients on this machine. */
  get url(): string {
    return `esdb://127.0.0.1:${String(this.port)}?tls=${String(this.options.tls !== undefined)}`;
  }

  /** Copies the events that another server has stored so far, as a follower does. */
  replicate(leader: EventStoreServer): void {
    this.log.copyFrom(leader.log);
  }

  dropConnections(): void {
    for (const socket of this.connections) socket.destroy();
  }

  /** Closes all connections, and listens again on the same port, with the same events. */
  async restart(downMs = 0): Promise<void> {
    const { port } = this;
    await this.stopListening();
    await pause(downMs);
    await this.listen(port);
  }

  async close(): Promise<void> {
    this.faults.thaw();
    await this.stopListening();
    this.grpc.forceShutdown();
  }

  private writeSystemEvent(stream: string, type: string): void {
    const [data, metadata] = [Buffer.from('{}'), Buffer.alloc(0)];
    this.log.append(stream, 'any', [
      { id: crypto.randomUUID(), type, contentType: 'application/json', data, metadata },
    ]);
  }

  private async listen(port: number): Promise<void> {
    this.listener.listen(port, this.host);
    await once(this.listener, 'listening');
    this.boundPort = (this.listener.address() as AddressInfo).port;
  }

  private async stopListening(): Promise<void> {
    const closed = once(this.listener, 'close');
    this.listener.close();
    this.dropConnections();
    await closed;
  }

  private addServices(): void {
    const writing = new Writing(this.log, this.faults, APPEND_BYTES_MAX, () => {
      this.dropConnections();
    });
    const { read, batchAppend, delete: remove, tombstone } = streams.StreamsService;
    this.grpc.addService(
      // The read form is encoded once, at the append.
      {
        read: { ...read, responseSerialize: (message: Buffer) => message },
        batchAppend,
        delete: remove,
        tombstone,
      },
      {
        read: (call: ReadCall) => {
          void new Reading(this.log, this.faults, call, () => (this.given += 1), this.openSubscriptions).answer();
        },
        batchAppend: writing.batchAppend.bind(writing),
        delete: (call: DeleteCall, answer: sendUnaryData<DeleteResp>) => {
          void writing.delete(call, answer);
        },
        tombstone: (call: TombstoneCall, answer: sendUnaryData<TombstoneResp>) => {
          void writing.tombstone(call, answer);
        },
      },
    );
    this.grpc.addService(features.ServerFeaturesService, { getSupportedMethods: answering(supportedMethods) });
    this.grpc.addService(gossip.GossipService, {
      read: answering(() => clusterInfo({ host: '127.0.0.1', port: this.port }, this.faults.leader)),
    });
  }

  /** Checks the credentials before any call on streams. */
  private admission(): ServerInterceptor {
    return ({ path }, call) =>
      new ServerInterceptingCall(call, {
        start: (next) => {
          next({
            onReceiveMetadata: (metadata, take) => {
              const refused = this.refusal(path, metadata);
              if (refused) call.sendStatus(refused);
              else take(metadata);
            },
          });
        },
      });
  }

  private refusal(path: string, metadata: Metadata): ServiceError | undefined {
    const { credentials } = this.options;
    if (!credentials || !path.includes('.streams.')) return undefined;
    const isKnown = metadata.get('authorization')[0] === `Basic ${btoa(credentials)}`;
    return isKnown ? undefined : namedError(status.UNAUTHENTICATED, 'access-denied', {});
  }
}

const answering =
  <Response>(make: () => Response): handleUnaryCall<unknown, Response> =>
  (_, answer) => {
    answer(null, make());
  };
