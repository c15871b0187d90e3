import type { ProblemCode } from '../../../schemas/http/problem.ts';
import type { StreamMessages } from '../../../schemas/socket/stream-messages.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { UserCaller } from '../../../shared/auth/caller.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { Subscriber } from '../domain/subscriber.ts';
import { SocketBuffer } from './socket-buffer.socketio.ts';
import type { StreamSocket } from './stream-socket.socketio.ts';

/** Answers that wait for a client that asks and does not read. */
const ANSWERS_WAITING_MAX = 512;
/** A client that cannot take the last messages is let go without them. */
const LAST_MESSAGES_MS = 1_000;

/** One client that was let in. */
export class Connection implements Subscriber {
  readonly subscriptions = new Map<string, Subscription>();
  readonly buffer: SocketBuffer;
  /** The client was told that its token ends. */
  isWarned = false;
  private holder: UserCaller;
  private answersWaiting = 0;
  private readonly ending = new AbortController();

  constructor(private readonly socket: StreamSocket) {
    this.holder = socket.data.caller;
    this.buffer = new SocketBuffer(socket.conn, () => {
      this.cut();
    });
    socket.once('disconnect', () => {
      this.ending.abort();
    });
    socket.conn.on('drain', () => {
      this.answersWaiting = 0;
    });
  }

  /** Whose token keeps it open. */
  get caller(): UserCaller {
    return this.holder;
  }

  get signal(): AbortSignal {
    return this.ending.signal;
  }

  tell<Name extends keyof StreamMessages>(name: Name, message: StreamMessages[Name]): void {
    this.socket.emit(name, message);
  }

  /** Another token of the same user takes the place of the one that ends. @throws Refusal forbidden */
  renew(caller: UserCaller): void {
    if (caller.userId !== this.holder.userId) throw new Refusal('forbidden', "the token is another user's");
    this.holder = caller;
    this.isWarned = false;
  }

  /** An answer will be sent; a client that does not read is let go. */
  expectAnswer(): void {
    this.answersWaiting += 1;
    if (this.answersWaiting > ANSWERS_WAITING_MAX) this.cut();
  }

  /** Says why to every subscription, then disconnects. */
  stop(code: ProblemCode): void {
    for (const subscriptionId of this.subscriptions.keys()) this.tell('stopped', { subscriptionId, code });
    this.disconnect();
  }

  disconnect(): void {
    this.socket.disconnect(true);
    setTimeout(() => {
      this.cut();
    }, LAST_MESSAGES_MS).unref();
  }

  /** At once, and whatever waits for the client with it; a closing handshake would wait for it to read. */
  private cut(): void {
    this.socket.conn.request.socket.destroy();
  }
}
