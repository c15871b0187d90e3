import { Refusal } from '../../../shared/errors/refusal.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import { AtATime } from './at-a-time.ts';
import type { Connection } from './connection.socketio.ts';

/** The time over which the clients of a stopping node reconnect. */
const RECONNECT_SPREAD_MS = 5_000;
/** How long a stopping node waits until the sent messages are written to the network. */
const DRAIN_MS = 1_000;
const DRAIN_POLL_MS = 10;

/** The connections of this node, and how many each caller has. */
export class Connections {
  private readonly connections = new Set<Connection>();
  /** A socket counts from before it is connected until it is closed. */
  private readonly socketIds: AtATime<string>;
  private isDraining = false;

  constructor(perUserMax: number) {
    this.socketIds = new AtATime(perUserMax, 'connections of a user');
  }

  get count(): number {
    return this.connections.size;
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.connections.values();
  }

  /** Counts a socket as a connection of the caller. @throws Refusal shutting_down, rate_limited */
  reserve(holderKey: string, socketId: string): void {
    if (this.isDraining) throw new Refusal('shutting_down', 'the node is stopping', { retryAfter: 1 });
    this.socketIds.add(holderKey, socketId);
  }

  release(holderKey: string, socketId: string): void {
    this.socketIds.delete(holderKey, socketId);
  }

  add(connection: Connection): void {
    this.connections.add(connection);
  }

  remove(connection: Connection): void {
    this.connections.delete(connection);
  }

  /** Tells every client when to reconnect, each at another time, then disconnects them. */
  async drain(): Promise<void> {
    this.isDraining = true;
    const connections = [...this.connections];
    connections.forEach((connection, index) => {
      const reconnectAfterMs = Math.round((RECONNECT_SPREAD_MS * (index + 1)) / connections.length);
      connection.emit('draining', { reconnectAfterMs });
    });
    const deadline = performance.now() + DRAIN_MS;
    while (connections.some(({ buffer }) => !buffer.isEmpty) && performance.now() < deadline)
      await pause(DRAIN_POLL_MS);
    for (const connection of connections) connection.disconnect();
  }
}
