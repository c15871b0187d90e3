import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import {
  NO_STREAM as NO_STREAM_EXPECTED,
  type AppendResult,
  type EventData,
  type EventStoreDBClient,
} from '@eventstore/db-client';
import { Refusal, unavailable } from '../../errors/refusal.ts';
import type { Logger } from 'pino';
import { closeClient } from './close-client.esdb.ts';
import { describe, isAnswer, isRecoverable } from './client-errors.esdb.ts';
import { NO_STREAM } from '../event-store.ts';
import { withinDeadline } from '../../primitives/waiting/within-deadline.ts';

/**
 * Maximum appends sent and unanswered. The client writes all appends to one call. From the sixteenth that the
 * connection has not accepted, the client queues them and rejects its queue uncatchably, which ends the process.
 */
const OUTSTANDING_MAX = 15;
/** The client detects a dead connection within 20 s, so an append without an answer after this time never gets one. */
const LOST_MS = 30_000;
/** Ending calls needs no answer from the server. */
const DISPOSE_MS = 1_000;
/** Every append is sent as one message, however large: the server decides what is too large. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Sent to the server, which compares it with its own clock and refuses later appends. Generous, because that clock may
 * be ahead.
 */
const SERVER_DEADLINE_MS = 24 * 60 * 60 * 1_000;

interface AppendConnection {
  client: EventStoreDBClient;
  outstanding: number;
}

/**
 * Sends all appends of a process, over one call at a time. The client keeps appends in one map for all its instances:
 * an error of one call rejects the appends of all calls, and a later answer to such an append throws uncatchably. The
 * call belongs to a client of its own, and is ended before a new client replaces that one.
 */
export class AppendQueue {
  private connection: AppendConnection;
  /** In the order of the calls. */
  private readonly waiting = new Set<() => void>();
  private readonly open = new Set<Promise<unknown>>();
  private isPaused = false;
  /** The state that was logged last. */
  private isInterrupted = false;
  private needsNewClient = false;
  private isClosed = false;

  constructor(
    private readonly connect: () => EventStoreDBClient,
    private readonly logger: Logger,
    /** Bounds the time in the queue, and again the time until the answer. */
    private readonly deadlineMs: number,
  ) {
    this.connection = { client: connect(), outstanding: 0 };
  }

  /** Sends appends in the order of the calls. @throws Refusal if the append was not sent, else the client's error */
  async append(stream: string, expectedRevision: number, events: readonly EventData[]): Promise<AppendResult> {
    if (this.isClosed) throw new Refusal('shutting_down', 'the event store is closed');
    const { promise, resolve, reject } = Promise.withResolvers<AppendResult>();
    const start = () => {
      clearTimeout(patience);
      this.waiting.delete(start);
      resolve(withinDeadline(`an append to ${stream}`, this.deadlineMs, this.send(stream, expectedRevision, events)));
    };
    const patience = setTimeout(() => {
      this.waiting.delete(start);
      reject(unavailable('the event store answers too slowly to accept more appends', undefined));
    }, this.deadlineMs);
    this.waiting.add(start);
    this.open.add(promise);
    this.startNext();
    try {
      return await promise;
    } finally {
      this.open.delete(promise);
    }
  }

  /** Waits for all appends in progress. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.allSettled(this.open);
    await withinDeadline('ending the appends', DISPOSE_MS, closeClient(this.connection.client));
  }

  private startNext(): void {
    for (const start of this.waiting) {
      if (this.isPaused || this.connection.outstanding === OUTSTANDING_MAX) return;
      start();
    }
  }

  private send(stream: string, expectedRevision: number, events: readonly EventData[]): Promise<AppendResult> {
    const { connection } = this;
    connection.outstanding += 1;
    const lost = setTimeout(() => {
      if (connection === this.connection) this.recover(true, new Error('the client does not answer an append'));
    }, LOST_MS).unref();
    const finish = (error?: unknown) => {
      clearTimeout(lost);
      connection.outstanding -= 1;
      if (connection !== this.connection) return;
      if (error !== undefined && !isAnswer(error)) {
        this.recover(!isRecoverable(error), error);
        return;
      }
      this.tellOnce(false);
      this.startNext();
    };
    const sent = connection.client.appendToStream(stream, [...events], {
      expectedRevision: expectedRevision === NO_STREAM ? NO_STREAM_EXPECTED : BigInt(expectedRevision),
      batchAppendSize: MESSAGE_BYTES_MAX,
      deadline: SERVER_DEADLINE_MS,
      requiresLeader: true,
    });
    sent.then(() => {
      finish();
    }, finish);
    return sent;
  }

  /**
   * After an error, sends nothing until the client has dropped the failed call. Replaces a client that cannot do so.
   */
  private recover(needsNewClient: boolean, error: unknown): void {
    this.needsNewClient ||= needsNewClient;
    if (this.isPaused) return;
    this.isPaused = true;
    this.tellOnce(true, error);
    void this.resume();
  }

  private tellOnce(isInterrupted: boolean, error?: unknown): void {
    if (isInterrupted === this.isInterrupted) return;
    this.isInterrupted = isInterrupted;
    if (isInterrupted) this.logger.warn({ err: error }, `the event store takes no appends: ${describe(error)}`);
    else this.logger.info('the event store takes appends again');
  }

  private async resume(): Promise<void> {
    await yieldToEventLoop();
    if (this.needsNewClient) {
      const disposed = withinDeadline('ending the appends', DISPOSE_MS, closeClient(this.connection.client));
      await disposed.catch((err: unknown) => {
        this.logger.error({ err }, 'the append call to the event store could not be ended');
      });
      this.connection = { client: this.connect(), outstanding: 0 };
    }
    this.needsNewClient = false;
    this.isPaused = false;
    this.startNext();
  }
}
