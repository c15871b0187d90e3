import type { Logger } from 'pino';
import { Refusal } from '../../errors/refusal.ts';
import {
  NO_STREAM,
  OutcomeUnknown,
  type Appended,
  type EventBatch,
  type EventFilter,
  type EventStore,
  type Position,
  type ReadStreamOptions,
  type StoredEvent,
} from '../../event-store/event-store.ts';
import { toAppend } from '../../event-store/transactions/transact.ts';
import type { Clock } from '../../primitives/clock.ts';
import { sha256, type Ids } from '../../primitives/ids.ts';

const TRY_EVERY_MS = 1_000;

interface WatchedEventStoreOptions {
  clock: Clock;
  ids: Ids;
  logger: Logger;
}

/**
 * An event store that knows whether it can be written to. After a failed append, it tries an append of its own each
 * second: an unhealthy process is taken out of service and gets no commands any more, so nothing else would show the
 * recovery.
 */
export class WatchedEventStore implements EventStore {
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(
    private readonly store: EventStore,
    private readonly options: WatchedEventStoreOptions,
  ) {}

  /** Whether the newest append failed, and none has succeeded since. */
  get writesFail(): boolean {
    return this.timer !== undefined;
  }

  async append(...append: Parameters<EventStore['append']>): Promise<Appended> {
    try {
      const appended = await this.store.append(...append);
      if (this.timer) this.succeeded();
      return appended;
    } catch (error) {
      if (isFailedWrite(error) && !this.timer && !this.isClosed) this.failed();
      throw error;
    }
  }

  read(stream: string, options?: ReadStreamOptions): Promise<StoredEvent[]> {
    return this.store.read(stream, options);
  }

  readAll(after: Position, filter: EventFilter | undefined, limit: number): Promise<EventBatch> {
    return this.store.readAll(after, filter, limit);
  }

  subscribeAll(after: Position, filter: EventFilter | undefined, signal: AbortSignal): AsyncIterable<EventBatch> {
    return this.store.subscribeAll(after, filter, signal);
  }

  keepNewest(stream: string, count: number): Promise<void> {
    return this.store.keepNewest(stream, count);
  }

  head(): Promise<Position> {
    return this.store.head();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    await this.store.close();
  }

  private failed(): void {
    this.options.logger.warn('the event store cannot be written to; it is tried each second');
    this.tryLater();
  }

  private succeeded(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.options.logger.info('the event store can be written to again');
  }

  private tryLater(): void {
    this.timer = setTimeout(() => {
      void this.tryNow();
    }, TRY_EVERY_MS).unref();
  }

  /**
   * Only the first success stores an event: like that of a request that nobody sent, in a stream whose events expire.
   */
  private async tryNow(): Promise<void> {
    const { ids } = this.options;
    const stream = `request-${sha256(ids.uuid())}`;
    const data = { fingerprint: sha256('whether the event store can be written to') };
    const metadata = { correlationId: ids.token(20), actor: { type: 'system', id: 'health' } } as const;
    const event = toAppend({ type: 'RequestReceived', data }, metadata, this.options);
    try {
      await this.append(stream, NO_STREAM, [event], { seconds: 60 });
    } catch {
      if (!this.isClosed) this.tryLater();
    }
  }
}

const isFailedWrite = (error: unknown): boolean =>
  error instanceof OutcomeUnknown || (error instanceof Refusal && error.code === 'dependency_unavailable');
