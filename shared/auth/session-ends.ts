import { sessionStream } from '../../schemas/events/session-events.ts';
import type { EventStore, Position } from '../event-store/event-store.ts';
import type { Clock } from '../primitives/clock.ts';
import { KeptValues } from '../primitives/kept-values.ts';
import { inTime } from '../primitives/in-time.ts';
import { sessionsModel } from '../read-models/sessions.ts';
import type { ReadStore } from '../read-store/read-store.ts';

const { session } = sessionsModel.collections;
/** Together less than the 2 s within which a revoked session must be refused. */
const KEPT_MS = 500;
const LAG_MAX_MS = 1_000;
const LAG_KEPT_MS = 250;
const SESSIONS_MAX = 10_000;
const SESSIONS_PER_QUERY = 1_000;
/** How long each store may take to say where it is before it counts as away. */
const TOLD_WITHIN_MS = 500;
/** Streams that are read at once. */
const STREAMS_AT_ONCE = 50;

interface SessionEndsOptions {
  readStore: Pick<ReadStore, 'getMany' | 'position'>;
  eventStore: Pick<EventStore, 'head' | 'read'>;
  clock: Clock;
}

/**
 * Tells which sessions have ended, less than 2 s late. The read model of sessions says so as long as it keeps up with the
 * event store; else the session's own stream does, whose last event is its end. A session without events has not ended.
 * While the event store is away no session ends, so a read model that kept up until then goes on deciding.
 */
export class SessionEnds {
  private readonly kept: KeptValues<boolean>;
  /** What the head of the event store was, oldest first. */
  private heads: { head: Position; askedAt: number }[] = [];
  private wasInTime = false;
  private projected: { isInTime: Promise<boolean>; until: number } | undefined;

  constructor(private readonly stores: SessionEndsOptions) {
    this.kept = new KeptValues(stores.clock, { max: SESSIONS_MAX, keptMs: KEPT_MS });
  }

  async hasEnded(sessionId: string): Promise<boolean> {
    const now = this.stores.clock.elapsed();
    const kept = this.kept.get(sessionId);
    if (kept !== undefined) return kept;
    const ended = (await this.endedOf([sessionId])).has(sessionId);
    this.kept.set(sessionId, ended, now);
    return ended;
  }

  /** Returns those of the sessions that have ended. */
  async endedOf(sessionIds: readonly string[]): Promise<Set<string>> {
    const isProjected = await this.isProjectedInTime();
    const ended = new Set<string>();
    const size = isProjected ? SESSIONS_PER_QUERY : STREAMS_AT_ONCE;
    for (let from = 0; from < sessionIds.length; from += size) {
      const page = sessionIds.slice(from, from + size);
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
    const now = this.stores.clock.elapsed();
    if (!this.projected || this.projected.until <= now) {
      this.projected = { isInTime: this.compare(now), until: now + LAG_KEPT_MS };
    }
    return this.projected.isInTime;
  }

  /** Whether the read model is known to have what the event store had at most `LAG_MAX_MS` ago. */
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

/** Whether a session has ended, at this moment. */
export const hasEndedInStream = async (eventStore: Pick<EventStore, 'read'>, sessionId: string): Promise<boolean> => {
  const [last] = await eventStore.read(sessionStream(sessionId), { direction: 'backwards', limit: 1 });
  return last?.type === 'SessionRevoked';
};
