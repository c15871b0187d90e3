import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Logger } from 'pino';
import { Backoff } from '../../primitives/waiting/backoff.ts';
import { LogThrottle } from '../../primitives/log-throttle.ts';
import { describe } from './client-errors.esdb.ts';
import type { Position } from '../event-store.ts';

const RECONNECT_FIRST_MS = 50;
const RECONNECT_MAX_MS = 2_000;

/** Dependencies of every subscription. */
export interface Subscribing {
  client: EventStoreDBClient;
  /** The time for each answer to a read. */
  answerMs: number;
  /** Aborts when the current leader is replaced. */
  leadership: () => AbortSignal;
  logger: Logger;
}

/** Waits between a failed subscription and the next one, longer each time. */
export class Reconnecting {
  private readonly backoff = new Backoff(RECONNECT_FIRST_MS, RECONNECT_MAX_MS);
  private readonly reported = new LogThrottle();

  constructor(private readonly logger: Logger) {}

  succeeded(): void {
    this.backoff.reset();
  }

  async failed(error: unknown, position: Position, signal: AbortSignal): Promise<void> {
    const message = `the subscription to the event store ended and starts again: ${describe(error)}`;
    this.logger[this.reported.isDue(message) ? 'warn' : 'debug']({ err: error, position }, message);
    await this.backoff.pause(signal);
  }
}
