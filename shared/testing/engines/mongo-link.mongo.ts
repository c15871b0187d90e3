import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';

/**
 * The outcome of a command, in order: its answer is replaced, its connection is cut, it hangs, or its answer is lost.
 */
type Fault = { answer: Document } | 'cut' | 'hang' | 'lose the answer' | undefined;

const OP_MSG = 2013;
/** Header, flags, and the kind of the first section, which is the body. */
const BODY_AT = 21;

/** A connection to a MongoDB server that can break, and answer instead of it. The server is a single host. */
export class MongoLink {
  /** Called for every command. */
  fault: (command: Document) => Fault = () => undefined;
  /** Whether new connections are closed at once. */
  isAway = false;
  readonly url: string;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {
    const url = new URL(target);
    url.host = `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    url.searchParams.set('directConnection', 'true');
    this.url = url.href;
  }

  static async open(target: string): Promise<MongoLink> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const link = new MongoLink(server, new URL(target));
    server.on('connection', (client) => {
      if (link.isAway) client.destroy();
      else link.join(client);
    });
    return link;
  }

  async close(): Promise<void> {
    this.server.close();
    this.cut();
    await once(this.server, 'close');
  }

  /** How many connections of clients are open. */
  get connections(): number {
    return this.sockets.size / 2;
  }

  /** Closes every connection; new ones are accepted. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private join(client: Socket): void {
    const server = connect(Number(this.target.port || 27_017), this.target.hostname);
    const faults = new Map<number, Fault>();
    const end = () => {
      for (const socket of [client, server]) {
        socket.destroy();
        this.sockets.delete(socket);
      }
    };
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    eachMessage(client, (message) => {
      const command = bodyOf(message);
      const fault = command && this.fault(command);
      if (fault === 'cut') end();
      else if (fault !== 'hang') {
        faults.set(message.readInt32LE(4), fault);
        server.write(message);
      }
    });
    eachMessage(server, (message) => {
      const fault = faults.get(message.readInt32LE(8));
      if (fault === 'lose the answer') end();
      else client.write(typeof fault === 'object' ? withBody(message, fault.answer) : message);
    });
  }
}

const eachMessage = (socket: Socket, take: (message: Buffer) => void): void => {
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 4 && received.length >= received.readInt32LE(0)) {
      const length = received.readInt32LE(0);
      take(received.subarray(0, length));
      received = received.subarray(length);
    }
  });
};

const bodyOf = (message: Buffer): Document | undefined =>
  message.readInt32LE(12) === OP_MSG
    ? BSON.deserialize(message.subarray(BODY_AT, BODY_AT + message.readInt32LE(BODY_AT)))
    : undefined;

const withBody = (message: Buffer, answer: Document): Buffer => {
  const changed = Buffer.concat([message.subarray(0, BODY_AT), BSON.serialize({ ...bodyOf(message), ...answer })]);
  changed.writeInt32LE(changed.length, 0);
  return changed;
};
