import { LRUCache } from 'lru-cache';
import type { SealedText } from '../../../schemas/events/event.ts';
import { userStream } from '../../../schemas/events/user-events.ts';
import { handed } from '../../../shared/audit/history-work.ts';
import type { HistoryThread } from '../../../shared/audit/history-thread.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { EventStore, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { PersonalData } from '../../../shared/key-vault/personal-data.ts';
import type { UserDocument } from '../../../shared/read-models/users.ts';
import type { QueryBudget } from '../../../shared/read-store/query-budget.ts';

/** Events after this time, or after this position, have not happened. */
export interface AsOf {
  /** Unix milliseconds. */
  time: number;
  position: Position;
}

/** A user after so many events of the stream that they are a multiple of `EVENTS_BETWEEN`. */
interface Snapshot {
  revision: number;
  /** That of the newest event. */
  position: Position;
  /** The latest time of an event up to there: clocks of processes differ. */
  time: number;
  /** The user as JSON. */
  sealed: SealedText;
}

const EVENTS_BETWEEN = 100;
const CHARACTERS_MAX = 32 * 1_024 * 1_024;

/**
 * Folds users as they were, from snapshots, so that it takes as long for a long history as for a short one. A process keeps
 * the snapshots that it came by, sealed, so that an erasure reaches them, and forgets those that were used least of late.
 */
export class UserSnapshots {
  private readonly kept = new LRUCache<string, Snapshot[]>({ maxSize: CHARACTERS_MAX });

  constructor(
    private readonly eventStore: Pick<EventStore, 'read'>,
    private readonly personalData: PersonalData,
    private readonly thread: HistoryThread,
  ) {}

  /** Returns `undefined` of a user who was not there yet. @throws Refusal user_erased, and as `check` of the budget */
  async at(userId: string, asOf: AsOf, budget: QueryBudget): Promise<UserDocument | undefined> {
    const [newest] = await this.eventStore.read(userStream(userId), { direction: 'backwards', limit: 1 });
    if (newest?.type === 'UserErased') throw erased();
    let last: Snapshot | undefined;
    for (;;) {
      const before = last;
      const { user, reached } = await this.thread.inSlot(budget, () => this.foldOn(userId, asOf, before));
      if (!reached) return user;
      last = reached;
    }
  }

  /** Folds from the last snapshot that had happened up to the next, which is kept, or up to the last event that had happened. */
  private async foldOn(
    userId: string,
    asOf: AsOf,
    last: Snapshot | undefined,
  ): Promise<{ user: UserDocument | undefined; reached: Snapshot | undefined }> {
    const kept = this.kept.get(userId)?.findLast((one) => hasHappened(one, asOf));
    const snapshot = (kept?.revision ?? -1) > (last?.revision ?? -1) ? kept : last;
    const from = (snapshot?.revision ?? -1) + 1;
    const events = await this.eventStore.read(userStream(userId), { from, limit: EVENTS_BETWEEN });
    let { time, position } = snapshot ?? { time: 0, position: 0 };
    const happened: StoredEvent[] = [];
    for (const event of events) {
      if (!hasHappened(event, asOf)) break;
      happened.push(event);
      time = Math.max(time, event.time);
      ({ position } = event);
    }
    const keys = await this.personalData.keysOf(happened.map(({ data }) => data));
    const known = snapshot && (await this.opened(snapshot));
    const user = await this.thread.fold({ events: happened.map(handed), keys, user: known });
    const isWhole = happened.length === EVENTS_BETWEEN;
    const reached = isWhole
      ? await this.keep(userId, { revision: from + happened.length - 1, position, time }, user)
      : undefined;
    return { user, reached };
  }

  private async keep(userId: string, at: Omit<Snapshot, 'sealed'>, user: UserDocument | undefined): Promise<Snapshot> {
    const sealed = await this.personalData.sealText(userId, JSON.stringify(user));
    const others = (this.kept.get(userId) ?? []).filter((one) => one.revision !== at.revision);
    const snapshot = { ...at, sealed };
    const all = [...others, snapshot].sort((one, other) => one.revision - other.revision);
    this.kept.set(userId, all, { size: all.reduce((size, one) => size + one.sealed.enc.length, 0) });
    return snapshot;
  }

  private async opened({ sealed }: Snapshot): Promise<UserDocument> {
    const text = await this.personalData.openText(sealed);
    if (text === null) throw erased();
    return JSON.parse(text) as UserDocument;
  }
}

const hasHappened = (at: AsOf, { time, position }: AsOf): boolean => at.time <= time && at.position <= position;

const erased = (): Refusal => new Refusal('user_erased', 'this user was erased');
