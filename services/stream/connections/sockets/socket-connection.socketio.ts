import type { ProblemCode } from '../../../../schemas/http/problem.ts';
import type { StreamMessages } from '../../../../schemas/socket/stream-messages.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { TokenCaller } from '../../../../shared/auth/caller.ts';
import { holderKey } from '../../../../shared/auth/holder-key.ts';
import { claimantOf } from '../../../../shared/auth/claimant.ts';
import type { Claimant } from '../../../../shared/chain/identifiers/claimant.ts';
import type { SlowReason } from '../../edge/stream-metrics.ts';
import type { Subscription } from '../../domain/subscription.ts';
import type { Subscriber } from '../../domain/subscriber.ts';
import type { Connection } from '../connections.ts';
import { cut, destroy, destroyLater } from './open-sockets.socketio.ts';
import { SocketBuffer, type Writes } from './socket-buffer.socketio.ts';
import type { StreamSocket } from './stream-socket.socketio.ts';

/** Maximum unsent answers to a client that sends commands without reading. */
const ANSWERS_WAITING_MAX = 512;

/** The socket of one authenticated client. */
export class SocketConnection implements Subscriber, Connection {
  readonly subscriptions = new Map<string, Subscription>();
  readonly buffer: SocketBuffer;
  isWarned = false;
  private currentCaller: TokenCaller;
  private answersWaiting = 0;
  /** Set once the socket is given up: commands received before it closes must not count it again. */
  private isEndedSlow = false;
  private readonly ending = new AbortController();

  constructor(
    private readonly socket: StreamSocket,
    private readonly writes: Writes,
  ) {
    this.currentCaller = socket.data.caller;
    this.buffer = new SocketBuffer(socket.conn, writes, (reason) => {
      this.endSlow(reason);
    });
    socket.once('disconnect', () => {
      this.ending.abort();
    });
    socket.conn.on('drain', () => {
      this.answersWaiting = 0;
    });
  }

  get claimant(): Claimant {
    return claimantOf(this.currentCaller);
  }

  get caller(): TokenCaller {
    return this.currentCaller;
  }

  get holderKey(): string {
    return holderKey(this.currentCaller);
  }

  get bytesUnsent(): number {
    return this.buffer.bytesUnsent;
  }

  get signal(): AbortSignal {
    return this.ending.signal;
  }

  emit<Name extends keyof StreamMessages>(name: Name, message: StreamMessages[Name]): void {
    this.buffer.flush();
    this.socket.emit(name, message);
  }

  /** Replaces the token with another one of the same user. @throws Refusal forbidden if it belongs to another user */
  replaceToken(caller: TokenCaller): void {
    if (holderKey(caller) !== this.holderKey) throw new Refusal('forbidden', "the token is another user's");
    this.currentCaller = caller;
    this.isWarned = false;
  }

  /** Counts an answer to be sent, and disconnects a client that does not read its answers. */
  countAnswer(): void {
    this.answersWaiting += 1;
    if (this.answersWaiting > ANSWERS_WAITING_MAX) this.endSlow('answers');
  }

  stop(code: ProblemCode): void {
    for (const subscriptionId of this.subscriptions.keys()) this.emit('stopped', { subscriptionId, code });
    this.disconnect();
  }

  disconnect(): void {
    this.buffer.flush();
    this.socket.disconnect(true);
    destroyLater(this.socket.conn);
  }

  /** Closes at once with a reason that the client reads in the closing frame. */
  cut(reason: string): void {
    cut(this.socket.conn, reason);
  }

  private endSlow(reason: SlowReason): void {
    if (this.isEndedSlow) return;
    this.isEndedSlow = true;
    this.writes.metrics.slowDisconnects.add({ reason });
    destroy(this.socket.conn);
  }
}
