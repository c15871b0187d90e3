import { inPieces } from '../primitives/in-pieces.ts';
import { sessionStream } from '../../schemas/events/account/session-events.ts';
import type { EventStore, Position } from '../event-store/event-store.ts';
import type { Clock } from '../primitives/clock.ts';
import { getOrLoad, TtlCache } from '../primitives/ttl-cache.ts';
import { inTime } from '../primitives/waiting/in-time.ts';
import { sessionsModel } from '../read-models/account/sessions.ts';
import type { ReadStore } from '../read-store/read-store.ts';

const { session } = sessionsModel.collections;
/** Cache time and lags. Together less than the 2 s within which a revoked session must be refused. */
const KEPT_MS = 500;
const LAG_MAX_MS = 1_000;
const LAG_KEPT_MS = 250;
const SESSIONS_MAX = 10_000;
const SESSIONS_PER_QUERY = 1_000;
/** How long each store may take to report its position before it counts as down. */
const TOLD_WITHIN_MS = 500;
/** Streams read concurrently. */
const STREAMS_AT_ONCE = 50;

interface SessionEndsOptions {
  readStore: Pick<ReadStore, 'getMany' | 'position'>;
  eventStore: Pick<EventStore, 'head' | 'read'>;
  clock: Clock;
}

/**
 * Tells which sessions have ended, less than 2 s late. The read model decides as long as it keeps up with the event
 * store; otherwise the session's own stream does, whose last event is its end. A session without events has not ended.
 * While the event store is down no session can end, so a read model that had kept up goes on deciding.
 */
export class SessionEnds {
  private readonly kept: TtlCache<boolean>;
  /** Recent heads of the event store, oldest first. */
  private heads: { head: Position; askedAt: number }[] = [];
  private wasInTime = false;
  private readonly projected: TtlCache<Promise<boolean>>;

  constructor(private readonly stores: SessionEndsOptions) {
    this.projected = new TtlCache(stores.clock, { max: 1, ttlMs: LAG_KEPT_MS });
    this.kept = new TtlCache(stores.clock, { max: SESSIONS_MAX, ttlMs: KEPT_MS });
  }

  hasEnded(sessionId: string): Promise<boolean> {
    return this.kept.getOrAsk(sessionId, async () => (await this.endedOf([sessionId])).has(sessionId));
  }

  /** Returns the ended ones of these sessions. */
  async endedOf(sessionIds: readonly string[]): Promise<Set<string>> {
    const isProjected = await this.isProjectedInTime();
    const ended = new Set<string>();
    const size = isProjected ? SESSIONS_PER_QUERY : STREAMS_AT_ONCE;
    for (const page of inPieces(sessionIds, size)) {
      const found = isProjected ? await this.projectedEnds(page) : await this.storedEnds(page);
      for (const sessionId of found) ended.add(sessionId);
    }
    return ended;
  }

  private async projectedEnds(sessionIds: readonly string[]): Promise<string[]> {
    const found = await this.stores.readStore.getMany(session.name, sessionIds);
    return [...found.values()]
      .map(({ document }) => session.document.parse(document))
      .flatMap(({ id, revokedAt }) => (revokedAt === null ? [] : id));
  }

  private async storedEnds(sessionIds: readonly string[]): Promise<string[]> {
    const { eventStore } = this.stores;
    const ended = await Promise.all(sessionIds.map((sessionId) => hasEndedInStream(eventStore, sessionId)));
    return sessionIds.filter((_, at) => ended[at]);
  }

  private isProjectedInTime(): Promise<boolean> {
    return getOrLoad(this.projected, '', () => this.compare(this.stores.clock.elapsed()));
  }

  /** Whether the read model has everything that the event store had at most `LAG_MAX_MS` ago. */
  private async compare(askedAt: number): Promise<boolean> {
    const { eventStore, readStore } = this.stores;
    const [head, position] = await Promise.all([
      inTime(() => eventStore.head(), TOLD_WITHIN_MS),
      inTime(() => readStore.position(sessionsModel.name), TOLD_WITHIN_MS),
    ]);
    if (position === undefined) return false;
    if (head === undefined) return this.wasInTime;
    this.heads = [...this.heads, { head, askedAt }].filter((one) => askedAt - one.askedAt <= LAG_MAX_MS);
    this.wasInTime = this.heads.some((one) => one.head <= position);
    return this.wasInTime;
  }
}

/** Whether a session has ended, right now. */
export const hasEndedInStream = async (eventStore: Pick<EventStore, 'read'>, sessionId: string): Promise<boolean> => {
  const [last] = await eventStore.read(sessionStream(sessionId), { direction: 'backwards', limit: 1 });
  return last?.type === 'SessionRevoked';
};
