import { Refusal, unavailable } from '../../../shared/errors/refusal.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import { SenderRefused } from './sender-refused.ts';
import { Undeliverable } from './undeliverable.ts';

/** More than a server accepts in the seconds that a message may take. */
const UNDER_WAY_MAX = 1_000;
/** After the server accepted nothing, requests to send are refused for this long. */
const DOWN_MS = 10_000;
/** Consecutive failures, each for another recipient: a server may refuse everything for one of them. */
const FAILURES_MAX = 3;
/** A code is useless much later. */
const WAIT_MAX_MS = 60_000;

interface Message {
  /** Takes some seconds at most. */
  send: () => Promise<void>;
  /** Called if no server accepted the message. */
  notSent: () => Promise<void>;
}

/**
 * Sends messages in the background. The request is not kept waiting, because the time of the answer would reveal
 * whether the server knows the recipient.
 */
export class BackgroundSends {
  private readonly underWay = new Set<Promise<void>>();
  private readonly stopping = new AbortController();
  /** Recipients whose messages failed since the server last answered for a recipient. */
  private readonly failed = new Set<string>();
  private downUntil = -Infinity;

  /** @param report receives the error that kept a message from being sent */
  constructor(
    private readonly clock: Clock,
    private readonly report: (error: unknown) => void,
  ) {}

  /**
   * @throws Refusal dependency_unavailable if the server accepted nothing recently, or too many messages are waiting
   */
  requireServer(): void {
    const isFull = this.underWay.size >= UNDER_WAY_MAX;
    if (isFull || this.clock.elapsed() < this.downUntil) {
      throw unavailable('messages cannot be sent now', undefined);
    }
  }

  start(recipient: string, { send, notSent }: Message): void {
    const sent = this.sendTwice(recipient, send)
      .catch(async (error: unknown) => {
        if (!(error instanceof Undeliverable)) await notSent();
      })
      .catch(this.report)
      .finally(() => this.underWay.delete(sent));
    this.underWay.add(sent);
  }

  /** Called when the service stops. Returns when all messages are sent, or given up. */
  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.underWay);
  }

  private async sendTwice(recipient: string, send: () => Promise<void>): Promise<void> {
    try {
      await this.send(recipient, send);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const waitMs = (error.retryAfter ?? 0) * 1_000;
      if (waitMs <= WAIT_MAX_MS) await pause(waitMs, this.stopping.signal);
      if (waitMs > WAIT_MAX_MS || this.stopping.signal.aborted) throw error;
      await this.send(recipient, send);
    }
  }

  private async send(recipient: string, send: () => Promise<void>): Promise<void> {
    try {
      await send();
      this.answered();
    } catch (error) {
      this.report(error);
      if (error instanceof Undeliverable) this.answered();
      else if (!(error instanceof Refusal && error.code === 'rate_limited')) this.failedFor(recipient, error);
      throw error;
    }
  }

  private answered(): void {
    this.failed.clear();
    this.downUntil = -Infinity;
  }

  private failedFor(recipient: string, error: unknown): void {
    this.failed.add(recipient);
    const isDown = error instanceof SenderRefused || this.failed.size >= FAILURES_MAX;
    if (isDown) this.downUntil = this.clock.elapsed() + DOWN_MS;
  }
}

/** The sends of the mail server; those of the messenger are bound to the class. */
export const MAIL_SENDS = Symbol('MailSends');
