import { Refusal } from '../../../shared/errors/refusal.ts';
import { limitedAtATime } from '../../../shared/edge/rate-limits.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import type { Connection } from './connection.socketio.ts';

/** Over how long the clients of a stopping node come back. */
const RECONNECT_SPREAD_MS = 5_000;
/** What is under way to clients gets this long when the node stops. */
const DRAIN_MS = 1_000;
const DRAIN_POLL_MS = 10;

/** Every client of this node. */
export class Connections {
  private readonly connections = new Set<Connection>();
  /** Ids of sockets, by user; a socket has its seat from before it is connected until it is closed. */
  private readonly seats = new Map<string, Set<string>>();
  private isDraining = false;

  constructor(private readonly perUserMax: number) {}

  [Symbol.iterator](): Iterator<Connection> {
    return this.connections.values();
  }

  /** @throws Refusal shutting_down, rate_limited */
  takeSeat(userId: string, socketId: string): void {
    if (this.isDraining) throw new Refusal('shutting_down', 'the node is stopping', { retryAfter: 1 });
    const taken = this.seats.get(userId) ?? new Set();
    if (taken.size >= this.perUserMax) {
      throw limitedAtATime(`${String(this.perUserMax)} connections of a user`);
    }
    this.seats.set(userId, taken.add(socketId));
  }

  leaveSeat(userId: string, socketId: string): void {
    const taken = this.seats.get(userId);
    if (taken?.delete(socketId) && taken.size === 0) this.seats.delete(userId);
  }

  add(connection: Connection): void {
    this.connections.add(connection);
  }

  remove(connection: Connection): void {
    this.connections.delete(connection);
  }

  /** Tells every client to come back, each at another time, then lets go of them. */
  async drain(): Promise<void> {
    this.isDraining = true;
    const connections = [...this.connections];
    connections.forEach((connection, index) => {
      const reconnectAfterMs = Math.round((RECONNECT_SPREAD_MS * (index + 1)) / connections.length);
      connection.tell('draining', { reconnectAfterMs });
    });
    const deadline = performance.now() + DRAIN_MS;
    while (connections.some(({ buffer }) => !buffer.isEmpty) && performance.now() < deadline)
      await pause(DRAIN_POLL_MS);
    for (const connection of connections) connection.disconnect();
  }
}
