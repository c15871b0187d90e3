import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { apis, int16, int32, kafkaAnswer, kafkaText, onKafkaFrame, readKafkaRequest } from './kafka-frames.ts';

const COORDINATOR_NOT_AVAILABLE = 15;
/** The bytes of an answer for its size, its correlation id, and the throttle time. */
const HEAD_BYTES = 12;

/**
 * A proxy for the only broker of a Kafka. It puts its own port into the broker's answers, so that clients keep using
 * it. It can answer that groups have no coordinator, while everything else works, and shows the produce requests.
 */
export class KafkaProxy {
  refusesGroups = false;
  /** How many requests for a group it has refused. */
  refusedGroups = 0;
  /** Receives every produce request, which is forwarded once this returns. */
  beforeProduce: (frame: Buffer) => Promise<unknown> = () => Promise.resolve();
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly broker: { host: string; port: number },
  ) {}

  static async start(brokers: string): Promise<KafkaProxy> {
    const { hostname: host, port } = new URL(`kafka://${brokers}`);
    const proxy = new KafkaProxy(createServer(), { host, port: Number(port) });
    proxy.server.on('connection', (client) => {
      proxy.pass(client);
    });
    await once(proxy.server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get brokers(): string {
    return `127.0.0.1:${String(this.port)}`;
  }

  /** How many connections of clients are open. */
  get connections(): number {
    return this.sockets.size / 2;
  }

  async close(): Promise<void> {
    const closed = once(this.server.close(), 'close');
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  private pass(client: Socket): void {
    const broker = connect(this.broker);
    this.link(client, broker);
    this.link(broker, client);
    /** The requested API by correlation id. */
    const asked = new Map<number, number>();
    onKafkaFrame(client, (frame) => {
      const request = readKafkaRequest(frame);
      if (request.api === apis.findCoordinator && this.refusesGroups) {
        this.refusedGroups += 1;
        const nobody = [int32(-1), kafkaText(''), int32(-1)];
        client.write(kafkaAnswer(request, int32(0), int16(COORDINATOR_NOT_AVAILABLE), int16(-1), ...nobody));
        return;
      }
      asked.set(request.number, request.api);
      if (request.api === apis.produce) void this.beforeProduce(frame).then(() => broker.write(frame));
      else broker.write(frame);
    });
    onKafkaFrame(broker, (answer) => {
      const number = answer.readInt32BE(4);
      const api = asked.get(number);
      asked.delete(number);
      // In the versions that kafkajs uses: a list of one broker; a code, a text, and the coordinator.
      if (api === apis.metadata) this.putPort(answer, HEAD_BYTES + 4);
      const isFound = api === apis.findCoordinator && answer.readInt16BE(HEAD_BYTES) === 0;
      if (isFound) this.putPort(answer, HEAD_BYTES + 4 + Math.max(0, answer.readInt16BE(HEAD_BYTES + 2)));
      client.write(answer);
    });
  }

  private link(socket: Socket, other: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.sockets.delete(socket);
      other.destroy();
    });
  }

  /** @param at the offset of a broker: id, host and port */
  private putPort(answer: Buffer, at: number): void {
    const hostAt = at + 4;
    const portAt = hostAt + 2 + answer.readInt16BE(hostAt);
    if (answer.readInt32BE(portAt) !== this.broker.port) throw new Error('the broker is not at the expected offset');
    answer.writeInt32BE(this.port, portAt);
  }
}
