import { userStream, type UserEvent } from '../../../../schemas/events/account/user-events.ts';
import type { HistoryThread } from '../../../../shared/audit/history-thread.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { EventStore, Position, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import type { PersonalData } from '../../../../shared/key-vault/personal-data.ts';
import { openedData, openedValue, type DataKeys } from '../../../../shared/key-vault/sealed-members.ts';
import { dataKeyId } from '../../../../shared/key-vault/vault-keys.ts';
import {
  EVENTS_PER_SNAPSHOT,
  userSnapshotsModel,
  type UserSnapshot,
} from '../../../../shared/read-models/account/user-snapshots.ts';
import { evolveUser, withMessengerOpened, type UserDocument } from '../../../../shared/read-models/account/users.ts';
import type { QueryBudget } from '../../../../shared/read-store/query-budget.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';

interface Sources {
  eventStore: Pick<EventStore, 'read'>;
  readStore: Pick<ReadStore, 'find'>;
  personalData: PersonalData;
  thread: Pick<HistoryThread, 'inSlot'>;
}

/** A user after the events before a revision. */
interface Reached {
  revision: number;
  user: UserDocument | undefined;
}

const { snapshot } = userSnapshotsModel.collections;

/**
 * Folds users as of earlier times, each from the last snapshot before, so that a long history takes no longer than a
 * short one.
 */
export class UserSnapshots {
  constructor(private readonly sources: Sources) {}

  /**
   * Returns the user after all events up to a position; `undefined` for one who did not exist yet.
   * @throws Refusal user_erased, and as `check` of the budget
   */
  async at(userId: string, asOf: Position, budget: QueryBudget): Promise<UserDocument | undefined> {
    const { eventStore, personalData, thread } = this.sources;
    const [[newest], known, key] = await Promise.all([
      eventStore.read(userStream(userId), { direction: 'backwards', limit: 1 }),
      this.lastSnapshot(userId, asOf),
      personalData.keys.dataKey(userId),
    ]);
    if (newest?.type === 'UserErased') throw new Refusal('user_erased', 'this user was erased');
    const keys = new Map([[dataKeyId(userId), key]]);
    // In turns with other long reads: whoever asks for many must not keep others waiting.
    const foldOn = ({ revision: from, user }: Reached) =>
      thread.inSlot(budget, async (): Promise<Reached> => {
        const events = await eventStore.read(userStream(userId), { from, limit: EVENTS_PER_SNAPSHOT });
        const happened = events.filter(({ position }) => position <= asOf);
        return { revision: from + happened.length, user: folded(user, happened, keys) };
      });
    let before = { ...known, user: known.user && withMessengerOpened(opened(known.user, keys)) };
    let reached = await foldOn(before);
    // Only where the read model has not got the snapshot yet, or has none.
    while (reached.revision === before.revision + EVENTS_PER_SNAPSHOT) {
      before = reached;
      reached = await foldOn(before);
    }
    return reached.user && opened(reached.user, keys);
  }

  private async lastSnapshot(userId: string, asOf: Position): Promise<Reached> {
    const [found] = await this.sources.readStore.find(snapshot.name, {
      filter: { userId, upTo: { lte: asOf } },
      sort: [['upTo', 'desc']],
      limit: 1,
    });
    const { user } = (found?.document ?? {}) as Partial<UserSnapshot>;
    return user ? { revision: Number(user['revision']) + 1, user: user as UserDocument } : { revision: 0, user };
  }
}

/**
 * Leaves texts of the profile sealed, because most are replaced by later ones, and the fold compares none.
 * @param events of the user's stream, each checked against its definition before it was stored
 */
const folded = (user: UserDocument | undefined, events: readonly StoredEvent[], keys: DataKeys) =>
  events.reduce((known, event) => {
    const data = event.type === 'ProfileUpdated' ? event.data : openedData(event, keys);
    return evolveUser(known, { type: event.type, data } as unknown as UserEvent, event);
  }, user);

const opened = (user: UserDocument, keys: DataKeys): UserDocument => openedValue(user, keys) as unknown as UserDocument;
