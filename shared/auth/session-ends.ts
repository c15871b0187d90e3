import { LRUCache } from 'lru-cache';
import { readModels } from '../../schemas/read-models/catalogue.ts';
import { sessionDocument } from '../../schemas/read-models/sessions.ts';
import type { Clock } from '../primitives/clock.ts';
import type { ReadStore } from '../read-store/read-store.ts';

const KEPT_MS = 1_000;
const SESSIONS_MAX = 10_000;

/** Which sessions have ended, not older than a second. A session that is not projected yet has not. */
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
    const found = await this.readStore.getMany(readModels.sessions.collection, [sessionId]);
    const stored = found.get(sessionId);
    const ended = stored !== undefined && sessionDocument.parse(stored.document).revokedAt !== null;
    this.kept.set(sessionId, { ended, until: now + KEPT_MS });
    return ended;
  }
}
