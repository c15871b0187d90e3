import { LRUCache } from 'lru-cache';
import type { Clock } from '../primitives/clock.ts';
import { sessionsModel } from '../read-models/sessions.ts';
import type { ReadStore } from '../read-store/read-store.ts';

const { session } = sessionsModel.collections;
const KEPT_MS = 1_000;
const SESSIONS_MAX = 10_000;

/** Tells which sessions have ended, at most a second late. A session that is not projected yet counts as not ended. */
export class SessionEnds {
  private readonly kept = new LRUCache<string, { ended: boolean; until: number }>({ max: SESSIONS_MAX });

  constructor(
    private readonly readStore: ReadStore,
    private readonly clock: Clock,
  ) {}

  async hasEnded(sessionId: string): Promise<boolean> {
    const now = this.clock.now();
    const kept = this.kept.get(sessionId);
    if (kept && kept.until > now) return kept.ended;
    const found = await this.readStore.getMany(session.name, [sessionId]);
    const stored = found.get(sessionId);
    const ended = stored !== undefined && session.document.parse(stored.document).revokedAt !== null;
    this.kept.set(sessionId, { ended, until: now + KEPT_MS });
    return ended;
  }
}
