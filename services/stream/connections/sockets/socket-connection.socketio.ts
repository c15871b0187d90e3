import type { ProblemCode } from '../../../schemas/http/problem.ts';
import type { StreamMessages } from '../../../schemas/socket/stream-messages.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { TokenCaller } from '../../../shared/auth/caller.ts';
import { holderKey } from '../../../shared/auth/holder-key.ts';
import { claimantOf } from '../../../shared/auth/claimant.ts';
import type { Claimant } from '../../../shared/chain/claimant.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { Subscriber } from '../domain/subscriber.ts';
import { cut, destroy, destroyLater } from './open-sockets.socketio.ts';
import { SocketBuffer } from './socket-buffer.socketio.ts';
import type { StreamSocket } from './stream-socket.socketio.ts';

/** How many answers may wait for a client that sends commands and does not read. */
const ANSWERS_WAITING_MAX = 512;

/** The connection of one authenticated client. */
export class Connection implements Subscriber {
  readonly subscriptions = new Map<string, Subscription>();
  readonly buffer: SocketBuffer;
  /** Whether the client was sent `expiring` for its present token. */
  isWarned = false;
  private currentCaller: TokenCaller;
  private answersWaiting = 0;
  private readonly ending = new AbortController();

  constructor(private readonly socket: StreamSocket) {
    this.currentCaller = socket.data.caller;
    this.buffer = new SocketBuffer(socket.conn, () => {
      this.destroy();
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

  /** The user whose token keeps the connection open. */
  get caller(): TokenCaller {
    return this.currentCaller;
  }

  get holderKey(): string {
    return holderKey(this.currentCaller);
  }

  get signal(): AbortSignal {
    return this.ending.signal;
  }

  emit<Name extends keyof StreamMessages>(name: Name, message: StreamMessages[Name]): void {
    this.socket.emit(name, message);
  }

  /** Replaces the token by another one of the same user. @throws Refusal forbidden when it belongs to another user */
  replaceToken(caller: TokenCaller): void {
    if (holderKey(caller) !== this.holderKey) throw new Refusal('forbidden', "the token is another user's");
    this.currentCaller = caller;
    this.isWarned = false;
  }

  /** Counts an answer that will be sent, and disconnects a client that does not read its answers. */
  countAnswer(): void {
    this.answersWaiting += 1;
    if (this.answersWaiting > ANSWERS_WAITING_MAX) this.destroy();
  }

  /** Sends `stopped` with the code for every subscription, then disconnects. */
  stop(code: ProblemCode): void {
    for (const subscriptionId of this.subscriptions.keys()) this.emit('stopped', { subscriptionId, code });
    this.disconnect();
  }

  disconnect(): void {
    this.socket.disconnect(true);
    destroyLater(this.socket.conn);
  }

  /** Closes at once with a reason that the client reads in the closing frame. */
  cut(reason: string): void {
    cut(this.socket.conn, reason);
  }

  private destroy(): void {
    destroy(this.socket.conn);
  }
}
