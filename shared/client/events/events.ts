import { Backoff } from '../../primitives/waiting/backoff.ts';
import { pause } from '../../primitives/waiting/pause.ts';
import { AnnalsError, canPass, errorOf, pauseMs } from '../annals-error.ts';
import type { StreamEvent, StreamMessages, SubscribeRequest } from '../routes.ts';
import { StreamConnection, type GiveToken } from './stream-connection.socketio.ts';
import type { StreamNodes } from './stream-nodes.ts';
import { Subscription, type Patience, type StreamState } from './subscription.ts';

/** Keeps how far a reader has come, so that it goes on there after a restart. */
export interface Checkpoint {
  load: () => Promise<string | null | undefined> | string | null | undefined;
  /** Called with the cursor of each change once the reader asks for the next, and of a place that was reached without one. */
  save: (cursor: string) => unknown;
}

export interface EventsOptions extends Omit<SubscribeRequest, 'fromBlock' | 'cursor'> {
  /** History from this block on, then what happens. Without it and a cursor: what happens from now on. */
  fromBlock?: number | undefined;
  /** Goes on strictly after it: the cursor of a change, or of the answer of a query. */
  cursor?: string | undefined;
  /** What it has kept counts more than `cursor` and `fromBlock`. */
  checkpoint?: Checkpoint | undefined;
  signal?: AbortSignal | undefined;
  onState?: ((state: StreamState) => void) | undefined;
  /** Changes before the cursor are no longer kept. Without this function the iteration ends with the error `gap`; with it it goes on. */
  onGap?: ((gap: StreamMessages['gap']) => void) | undefined;
}

type Contract = Pick<EventsOptions, 'chainId' | 'contractAddress' | 'signal'>;

/** A node has 128 subscriptions of a connection at most. */
const SUBSCRIPTIONS_MAX = 100;

/** The subscriptions of a client, over as few connections as can be. */
export class Events {
  private readonly connections = new Map<Subscription, StreamConnection>();

  constructor(
    private readonly findNodes: (contract: Contract) => StreamNodes | Promise<StreamNodes>,
    private readonly giveToken: GiveToken,
    private readonly patience: Patience,
  ) {}

  /**
   * Iterates over the changes of an event, each once and in order, over failures and restarts of the node. Nothing is sent before
   * the first change is asked for.
   * @throws AnnalsError for a reason that cannot pass
   */
  async *read(options: EventsOptions): AsyncGenerator<StreamEvent, void> {
    const { fromBlock, cursor, checkpoint, signal, onState, onGap, ...event } = options;
    const kept = await checkpoint?.load();
    // A new file is empty.
    const from = kept == null || kept === '' ? cursor : kept;
    const start = { ...(fromBlock !== undefined && { fromBlock }), ...(from !== undefined && { cursor: from }) };
    const subscription = new Subscription({ ...event, ...start }, this.patience);
    subscription.onState = onState;
    signal?.throwIfAborted();
    const nodes = await this.nodesFor(options);
    try {
      this.connect(subscription, nodes);
      for (;;) {
        const next = await subscription.next(signal);
        if (next.kind === 'change') {
          yield next.change;
          await checkpoint?.save(next.change.cursor);
        } else if (next.kind === 'gap') {
          if (!onGap) throw notKept(next.gap);
          onGap(next.gap);
          await checkpoint?.save(next.gap.resumeWith);
        } else {
          if (next.kind === 'reached') await checkpoint?.save(next.cursor);
          if (next.state) onState?.(next.state);
        }
      }
    } finally {
      this.connections.get(subscription)?.remove(subscription);
      this.connections.delete(subscription);
    }
  }

  /** Asks for the nodes until it has them, or an error that is permanent. */
  private async nodesFor({ chainId, contractAddress, signal, onState }: EventsOptions): Promise<StreamNodes> {
    const backoff = new Backoff(this.patience.firstMs, this.patience.maxMs);
    for (;;) {
      try {
        return await this.findNodes({ chainId, contractAddress, signal });
      } catch (error) {
        signal?.throwIfAborted();
        if (!canPass(error)) throw error;
        onState?.({ state: 'connecting', error: errorOf(error) });
        await pause(pauseMs(backoff.take(), error), signal);
        signal?.throwIfAborted();
      }
    }
  }

  private connect(subscription: Subscription, nodes: StreamNodes): void {
    const hasRoom = (one: StreamConnection) =>
      one.nodes.name === nodes.name && one.size < SUBSCRIPTIONS_MAX && !one.has(subscription.key);
    this.add(subscription, [...this.connections.values()].find(hasRoom) ?? this.connectionTo(nodes));
  }

  private connectionTo(nodes: StreamNodes): StreamConnection {
    const elsewhere = (refused: Subscription) => {
      this.add(refused, this.connectionTo(nodes));
    };
    return new StreamConnection(nodes, this.giveToken, elsewhere, this.patience);
  }

  private add(subscription: Subscription, connection: StreamConnection): void {
    this.connections.set(subscription, connection);
    connection.add(subscription);
  }
}

const notKept = (gap: StreamMessages['gap']): AnnalsError =>
  new AnnalsError(
    'gap',
    `changes after the cursor are no longer kept: begin anew with fromBlock ${String(gap.fromBlock)}, ` +
      'or give onGap to go on without them',
    { gap },
  );
