import {
  BACKWARDS,
  END,
  EventStoreDBClient,
  FORWARDS,
  START,
  jsonEvent,
  type AppendResult,
} from '@eventstore/db-client';
import { hasUnsentCredentials } from '../../config/unsent-credentials.ts';
import { unavailable } from '../../errors/refusal.ts';
import type { Logger } from 'pino';
import { checkAppend } from './append-check.ts';
import { AppendQueue } from './append-queue.esdb.ts';
import { BatchSize } from '../batch-size.ts';
import { readThrough } from './bounded-read.esdb.ts';
import { closeClient } from './close-client.esdb.ts';
import { describe, isMissingStream, leaderNamedBy, toAppendError } from './client-errors.esdb.ts';
import { checkConnection, readTarget } from './connection-check.esdb.ts';
import {
  NO_STREAM,
  OutcomeUnknown,
  WrongExpectedRevision,
  type Appended,
  type EventBatch,
  type EventFilter,
  type EventPlace,
  type EventStore,
  type EventToAppend,
  type Position,
  type ReadStreamOptions,
  type Retention,
  type StoredEvent,
} from '../event-store.ts';
import { followAll } from './subscriptions/follow-all.esdb.ts';
import { takeBytesForBase64 } from './native-base64.esdb.ts';
import { isPermanent, placeOf } from '../permanent-streams.ts';
import type { Subscribing } from './reconnecting.esdb.ts';
import { SharedSubscription } from './subscriptions/shared-subscription.esdb.ts';
import { toEventData, toLogPosition, toPosition, toStored, type Recorded } from './stored-form.esdb.ts';

const METADATA_ATTEMPTS_MAX = 5;
const ANSWER_MS = 5_000;
const START_MS = 9_000;
const SOCKET_MS = 1_000;

interface EsdbOptions {
  settings: { EVENTSTORE_URL: string };
  logger: Logger;
  /** The time for each answer to an append or a read: 5,000 ms by default. */
  answerMs?: number;
  /** The time for the first answer: 9,000 ms by default. */
  startMs?: number;
  /** The time for a TCP connection where there is no answer: 1,000 ms by default. */
  socketMs?: number;
}

/**
 * The event store on EventStoreDB. A process must have only one: see `AppendQueue`. Sends every request to the leader:
 * another node may be behind and return stale events.
 */
export class EsdbEventStore implements EventStore {
  private readonly queue: AppendQueue;
  private readonly closing = new AbortController();
  /** Aborts when another node becomes the leader, because subscriptions would stay with the old leader. */
  private leadership = new AbortController();
  private readonly subscribing: Subscribing;
  private readonly shared: SharedSubscription;

  private constructor(
    /** For everything except appends: errors of this client must not affect them. */
    private readonly client: EventStoreDBClient,
    connect: () => EventStoreDBClient,
    logger: Logger,
    private readonly answerMs: number,
  ) {
    takeBytesForBase64();
    this.queue = new AppendQueue(connect, logger, answerMs);
    this.subscribing = { client, answerMs, logger, leadership: () => this.leadership.signal };
    this.shared = new SharedSubscription(this.subscribing);
  }

  /** @throws CannotStart if no server answers in time, or the server refuses us */
  static async connect({
    settings,
    logger,
    answerMs = ANSWER_MS,
    startMs = START_MS,
    socketMs = SOCKET_MS,
  }: EsdbOptions): Promise<EsdbEventStore> {
    const target = readTarget(settings.EVENTSTORE_URL);
    const connect = () => EventStoreDBClient.connectionString(target.connectionString);
    const client = connect();
    try {
      await checkConnection(client, target, { answerMs, startMs, socketMs });
      if (hasUnsentCredentials(settings.EVENTSTORE_URL)) {
        logger.warn('EVENTSTORE_URL: without TLS (tls=false) its credentials are not sent');
      }
    } catch (error) {
      await closeClient(client);
      throw error;
    }
    return new EsdbEventStore(client, connect, logger, answerMs);
  }

  /** @throws also TypeError for an invalid event, RangeError for more than the server accepts in one append */
  async append(
    stream: string,
    expectedRevision: number,
    events: readonly EventToAppend[],
    keep?: Retention,
  ): Promise<Appended> {
    checkAppend(stream, events);
    // The first append to a stream sets its retention beforehand, so that no event exists without one.
    if (keep && expectedRevision === NO_STREAM) await this.limit(stream, keep);
    const { nextExpectedRevision, position } = await this.queue
      .append(stream, expectedRevision, events.map(toEventData))
      .catch((error: unknown) => {
        throw toAppendError(stream, expectedRevision, error);
      });
    const revision = Number(nextExpectedRevision);
    return { revision, position: isKnown(position) ? toPosition(position) : await this.positionOf(stream, revision) };
  }

  async read(stream: string, { from, direction = 'forwards', limit }: ReadStreamOptions = {}): Promise<StoredEvent[]> {
    const isForwards = direction === 'forwards';
    if (!isForwards && from !== undefined && from < 0) return [];
    const recorded = await this.readRaw(stream, {
      direction: isForwards ? FORWARDS : BACKWARDS,
      fromRevision: from === undefined ? (isForwards ? START : END) : BigInt(Math.max(from, 0)),
      ...(limit === undefined ? {} : { maxCount: limit }),
    });
    const events = recorded.flatMap((event) => toStored(event) ?? []);
    const last = recorded.at(-1);
    if (!last || limit === undefined || recorded.length < limit || events.length === limit) return events;
    // Some of the events belonged to other programs: read on.
    const next = Number(last.revision) + (isForwards ? 1 : -1);
    return [...events, ...(await this.read(stream, { direction, from: next, limit: limit - events.length }))];
  }

  async readAll(after: Position, filter: EventFilter | undefined, limit: number): Promise<EventBatch> {
    const wanted = filter && new Set(filter.types);
    const events: StoredEvent[] = [];
    const size = new BatchSize(limit);
    let position = after;
    let newestPermanent: EventPlace | undefined;
    const read = this.client.readAll({
      fromPosition: after === 0 ? START : toLogPosition(after),
      direction: FORWARDS,
      requiresLeader: true,
    });
    await readThrough(read, this.answerMs, ({ event }) => {
      // The event at this position was returned before.
      if (!event || toPosition(event.position) <= after) return true;
      position = toPosition(event.position);
      const stored = toStored(event);
      if (stored && isPermanent(stored.stream)) newestPermanent = stored;
      if (!stored || (wanted && !wanted.has(stored.type))) return true;
      events.push(stored);
      size.add(stored);
      return !size.isFull;
    }).catch((error: unknown) => {
      throw this.cannotRead(error);
    });
    return { events, position, caughtUp: !size.isFull, newestPermanent: newestPermanent && placeOf(newestPermanent) };
  }

  subscribeAll(after: Position, filter: EventFilter | undefined, signal: AbortSignal): AsyncIterable<EventBatch> {
    const { subscribing, shared } = this;
    return followAll({
      subscribing,
      shared,
      readAll: this.readAll.bind(this),
      after,
      filter,
      signal: AbortSignal.any([signal, this.closing.signal]),
    });
  }

  keepNewest(stream: string, count: number): Promise<void> {
    return this.limit(stream, { newest: count });
  }

  async head(): Promise<Position> {
    let position: Position = 0;
    const read = this.client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1, requiresLeader: true });
    await readThrough(read, this.answerMs, ({ event }) => {
      if (event) position = toPosition(event.position);
      return true;
    }).catch((error: unknown) => {
      throw this.cannotRead(error);
    });
    return position;
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.queue.close();
    await closeClient(this.client);
  }

  private async limit(stream: string, keep: Retention): Promise<void> {
    const [name, limit] = 'newest' in keep ? ['$maxCount', keep.newest] : ['$maxAge', keep.seconds];
    // Assumes a new stream without metadata, which is nearly always right.
    let known: Awaited<ReturnType<typeof this.streamMetadata>> = { revision: NO_STREAM, metadata: {} };
    for (let attempt = 1; ; attempt += 1) {
      const { revision, metadata } = known;
      if (metadata[name] === limit) return;
      // The stream's metadata can only be replaced as a whole.
      const event = jsonEvent({ type: '$metadata', data: { ...metadata, [name]: limit } });
      try {
        await this.queue.append(`$$${stream}`, revision, [event]);
        return;
      } catch (cause) {
        const error = toAppendError(`$$${stream}`, revision, cause);
        const isWorthIt = error instanceof WrongExpectedRevision || error instanceof OutcomeUnknown;
        if (!isWorthIt) throw error;
        if (attempt === METADATA_ATTEMPTS_MAX) throw unavailable(`the retention of ${stream} cannot be stored`, error);
      }
      known = await this.streamMetadata(stream);
    }
  }

  private async streamMetadata(stream: string): Promise<{ revision: number; metadata: Record<string, unknown> }> {
    const [newest] = await this.readRaw(`$$${stream}`, { direction: BACKWARDS, fromRevision: END, maxCount: 1 });
    if (!newest) return { revision: NO_STREAM, metadata: {} };
    return { revision: Number(newest.revision), metadata: newest.data as Record<string, unknown> };
  }

  /** Returns the position of the event at a revision, or of the first kept event after it. */
  private async positionOf(stream: string, revision: number): Promise<Position> {
    const read = this.readRaw(stream, { direction: FORWARDS, fromRevision: BigInt(revision), maxCount: 1 });
    const [event] = await read.catch((cause: unknown) => {
      throw new OutcomeUnknown(`${stream} was appended to, but the position is unknown`, { cause });
    });
    return event?.position ? toPosition(event.position) : this.head();
  }

  private async readRaw(stream: string, options: Parameters<EventStoreDBClient['readStream']>[1]): Promise<Recorded[]> {
    const events: Recorded[] = [];
    try {
      await readThrough(
        this.client.readStream(stream, { ...options, requiresLeader: true }),
        this.answerMs,
        ({ event }) => {
          if (event) events.push(event);
          return true;
        },
      );
    } catch (error) {
      if (isMissingStream(error)) return [];
      throw this.cannotRead(error);
    }
    return events;
  }

  private cannotRead(error: unknown): Error {
    if (leaderNamedBy(error) !== undefined) {
      this.leadership.abort();
      this.leadership = new AbortController();
    }
    return unavailable(`the event store cannot be read: ${describe(error)}`, error);
  }
}

/** The answer to a repeated append has no position if its events were deleted. */
const isKnown = (position: AppendResult['position']): position is NonNullable<AppendResult['position']> =>
  position !== undefined && position.commit <= Number.MAX_SAFE_INTEGER;
