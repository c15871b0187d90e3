import { unavailable } from '../../../shared/errors/refusal.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { Undeliverable } from './undeliverable.ts';

/** More than a server takes in the seconds that a message may need. */
const UNDER_WAY_MAX = 1_000;
/** How long nobody is told any more that a message is sent, after one could not be. */
const DOWN_MS = 10_000;

/**
 * Sends messages whose recipient may or may not be known to the server. Nobody waits for them, because the time would tell.
 */
export class BackgroundSends {
  private readonly underWay = new Set<Promise<void>>();
  private downUntil = -Infinity;

  /** @param report is given what kept a message from being sent */
  constructor(
    private readonly clock: Clock,
    private readonly report: (error: unknown) => void,
  ) {}

  /** @throws Refusal dependency_unavailable when the server took nothing just now, or too much waits for it */
  requireServer(): void {
    const isFull = this.underWay.size >= UNDER_WAY_MAX;
    if (isFull || this.clock.elapsed() < this.downUntil) {
      throw unavailable('messages cannot be sent now', undefined);
    }
  }

  /** @param send takes some seconds at most */
  start(send: () => Promise<void>): void {
    const sent = send()
      .then(() => {
        this.downUntil = -Infinity;
      })
      .catch((error: unknown) => {
        this.report(error);
        if (!(error instanceof Undeliverable)) this.downUntil = this.clock.elapsed() + DOWN_MS;
      })
      .finally(() => this.underWay.delete(sent));
    this.underWay.add(sent);
  }

  /** The service stops: returns when all of them are sent, or given up. */
  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.underWay);
  }
}
