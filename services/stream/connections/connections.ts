import { Refusal } from '../../../shared/errors/refusal.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import type { ProblemCode } from '../../../schemas/http/problem.ts';
import type { TokenCaller } from '../../../shared/auth/caller.ts';
import type { Subscriber } from '../domain/subscriber.ts';
import { AtATime } from './at-a-time.ts';

/** The time over which the clients of a stopping node reconnect, at least. */
const RECONNECT_SPREAD_MS = 5_000;
/** Less than what another node can accept beside its work; many clients reconnect over a longer time. */
const RECONNECTS_PER_SECOND = 500;
/** How long a stopping node waits until sent messages are written to the network. */
const DRAIN_MS = 1_000;
const DRAIN_POLL_MS = 10;

/** A socket, or a request over plain HTTP that waits for events. */
export interface Connection {
  /** The holder of the token that keeps it open; `undefined` if nobody's token does. */
  readonly caller: TokenCaller | undefined;
  /** Whether the client was sent `expiring` for its current token. */
  isWarned: boolean;
  readonly subscriptions: ReadonlyMap<string, unknown>;
  /** Bytes that were sent to the client, and are not written to the network yet. */
  readonly bytesUnsent: number;
  emit: Subscriber['emit'];
  /** Sends `stopped` with the code for every subscription, then disconnects. */
  stop: (code: ProblemCode) => void;
  disconnect: () => void;
}

/** The connections of this node, with a limit per caller. */
export class Connections {
  private readonly connections = new Set<Connection>();
  /** Counts a connection from before it is open until it is closed. */
  private readonly connectionIds: AtATime<string>;
  private isDraining = false;

  constructor(perUserMax: number) {
    this.connectionIds = new AtATime(perUserMax, 'connections of a user');
  }

  get count(): number {
    return this.connections.size;
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.connections.values();
  }

  /** Counts a connection as one of its caller. @throws Refusal shutting_down, rate_limited */
  reserve(holderKey: string, connectionId: string): void {
    if (this.isDraining) throw new Refusal('shutting_down', 'the node is stopping', { retryAfter: 1 });
    this.connectionIds.add(holderKey, connectionId);
  }

  release(holderKey: string, connectionId: string): void {
    this.connectionIds.delete(holderKey, connectionId);
  }

  add(connection: Connection): void {
    this.connections.add(connection);
  }

  remove(connection: Connection): void {
    this.connections.delete(connection);
  }

  /** Tells every client when to reconnect, spread over time, then disconnects them. */
  async drain(): Promise<void> {
    this.isDraining = true;
    const connections = [...this.connections];
    const spreadMs = Math.max(RECONNECT_SPREAD_MS, (connections.length * 1_000) / RECONNECTS_PER_SECOND);
    connections.forEach((connection, index) => {
      const reconnectAfterMs = Math.round((spreadMs * (index + 1)) / connections.length);
      connection.emit('draining', { reconnectAfterMs });
    });
    const deadline = performance.now() + DRAIN_MS;
    while (connections.some(({ bytesUnsent }) => bytesUnsent > 0) && performance.now() < deadline)
      await pause(DRAIN_POLL_MS);
    for (const connection of connections) connection.disconnect();
  }
}
