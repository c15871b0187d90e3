import type { ExportEnd } from '../../schemas/http/history.ts';
import { userStream } from '../../schemas/events/user-events.ts';
import { Refusal } from '../errors/refusal.ts';
import type { EventStore, StoredEvent } from '../event-store/event-store.ts';
import type { PersonalData } from '../key-vault/personal-data.ts';
import { canonicalJson } from '../primitives/canonical-json.ts';
import { toIso, type Clock } from '../primitives/clock.ts';
import type { QueryBudget } from '../read-store/query-budget.ts';
import type { AuditKey } from './audit-key.jose.ts';
import { historyEvents, type HistorySources } from './history-events.ts';
import { NO_HASH } from '../read-models/history-line.ts';
import type { HistoryThread } from './history-thread.ts';
import { handed } from './history-work.ts';

/** Nobody else waits longer than for so many. */
const PIECE_EVENTS = 100;

export interface ExportOptions extends HistorySources {
  eventStore: Pick<EventStore, 'read' | 'readAll' | 'head'>;
  personalData: Pick<PersonalData, 'keysOf'>;
  auditKey: Pick<AuditKey, 'sign'>;
  thread: HistoryThread;
  budget: QueryBudget;
  clock: Clock;
}

/**
 * Returns the history of a user as NDJSON, oldest first: a line for each event up to the newest of the store, and a last
 * one that signs whose they are, how many, and the hash of the newest.
 * @throws Refusal user_not_found; while it is read user_erased, if the user is erased meanwhile, and as `check` of the budget
 */
export const exportHistory = async (userId: string, options: ExportOptions): Promise<AsyncGenerator<string>> => {
  const [newest] = await options.eventStore.read(userStream(userId), { direction: 'backwards', limit: 1 });
  if (!newest) throw new Refusal('user_not_found', 'no user has this id');
  return everyLine(userId, newest.type === 'UserErased', options);
};

async function* everyLine(
  userId: string,
  isErased: boolean,
  { personalData, auditKey, thread, budget, clock, ...sources }: ExportOptions,
): AsyncGenerator<string> {
  const position = await sources.eventStore.head();
  const events = historyEvents(sources, { userId, upTo: position });
  let previous = NO_HASH;
  let items = 0;
  for (;;) {
    const piece = await thread.inSlot(budget, async () => {
      const some = await take(events, PIECE_EVENTS);
      const keys = await personalData.keysOf(some.map(({ metadata }) => metadata.salt));
      return { count: some.length, ...(await thread.lines({ events: some.map(handed), keys, previous, isErased })) };
    });
    if (piece.text === undefined) throw new Refusal('user_erased', 'this user was erased while the export was made');
    ({ hash: previous } = piece);
    items += piece.count;
    if (piece.count > 0) yield piece.text;
    if (piece.count < PIECE_EVENTS) break;
  }
  const end = { sub: userId, items, position, hash: previous, time: toIso(clock.now()) };
  const signature = await auditKey.sign(canonicalJson(end));
  yield `${JSON.stringify({ ...end, signature } satisfies ExportEnd)}\n`;
}

const take = async (events: AsyncIterator<StoredEvent>, count: number): Promise<StoredEvent[]> => {
  const taken: StoredEvent[] = [];
  while (taken.length < count) {
    const next = await events.next();
    if (next.done) break;
    taken.push(next.value);
  }
  return taken;
};
