import { sessionStream } from '../../schemas/events/account/session-events.ts';
import { transactionEvents, transactionStream } from '../../schemas/events/onchain/transaction-events.ts';
import { userEvents, userStream } from '../../schemas/events/account/user-events.ts';
import type { EventStore, Position, StoredEvent } from '../event-store/event-store.ts';
import { readEvery } from '../event-store/read-every.ts';
import { readStream } from '../event-store/read-stream.ts';
import { firstIndex } from '../primitives/first-index.ts';
import { transactionsModel } from '../read-models/onchain/transactions.ts';
import type { ReadStore } from '../read-store/read-store.ts';

const PAGE_TRANSACTIONS = 1_000;
const { transaction } = transactionsModel.collections;
const loggedIn = userEvents.UserLoggedIn.data.pick({ sessionId: true });
const submission = transactionEvents.TxSubmitted.data.pick({ transactionId: true });

export interface HistorySources {
  eventStore: Pick<EventStore, 'read' | 'readAll'>;
  /** Lists the user's transactions up to the position of its read model; the event store has those after it. */
  readStore: Pick<ReadStore, 'find' | 'position'>;
}

interface Asked {
  userId: string;
  /** Later events are ignored. */
  upTo: Position;
}

/**
 * Yields all events about a user in the order of the store: the user's stream, sessions started and ended,
 * transactions. A login names its session before the session starts, so each event is read before its turn comes.
 */
export async function* historyEvents(sources: HistorySources, asked: Asked): AsyncGenerator<StoredEvent> {
  const { eventStore } = sources;
  const { userId, upTo } = asked;
  const due = new DueEvents(asked);
  const submitted = await transactionsOf(sources, asked);
  let next = 0;
  const upToTransactions = async function* (before: Position) {
    for (let one = submitted[next]; one && one.position < before; one = submitted[next]) {
      next += 1;
      yield* due.before(one.position);
      due.add(await eventStore.read(transactionStream(one.id)));
    }
  };
  for await (const event of readStream(eventStore, userStream(userId))) {
    if (event.position > upTo) break;
    yield* upToTransactions(event.position);
    yield* due.before(event.position);
    yield event;
    if (event.type === 'UserLoggedIn') due.add(await sessionOf(eventStore, loggedIn.parse(event.data).sessionId));
  }
  yield* upToTransactions(Infinity);
  yield* due.before(Infinity);
}

/** Events of other streams, read ahead of their turn. */
class DueEvents {
  /** By position, the newest first. */
  private readonly waiting: StoredEvent[] = [];

  constructor(private readonly asked: Asked) {}

  add(events: readonly StoredEvent[]): void {
    const { userId, upTo } = this.asked;
    for (const event of events) {
      if (event.data['userId'] !== userId || event.position > upTo) continue;
      const at = firstIndex(this.waiting, ({ position }) => position < event.position);
      this.waiting.splice(at, 0, event);
    }
  }

  *before(position: Position): Generator<StoredEvent> {
    for (let event = this.waiting.at(-1); event && event.position < position; event = this.waiting.at(-1)) {
      this.waiting.pop();
      yield event;
    }
  }
}

/** Returns the first event of a session and the last: all between are refreshes. */
const sessionOf = async (eventStore: HistorySources['eventStore'], sessionId: string): Promise<StoredEvent[]> => {
  const stream = sessionStream(sessionId);
  const ends = await Promise.all([
    eventStore.read(stream, { limit: 1 }),
    eventStore.read(stream, { direction: 'backwards', limit: 1 }),
  ]);
  const [first, last] = ends.flat();
  if (!first || !last) return [];
  const isOne = first.revision === last.revision;
  return (isOne ? [first] : [first, last]).filter(({ type }) => type === 'SessionStarted' || type === 'SessionRevoked');
};

/** Returns the transactions of a user in the order of their submission. */
const transactionsOf = async (
  { eventStore, readStore }: HistorySources,
  { userId, upTo }: Asked,
): Promise<{ id: string; position: Position }[]> => {
  const reached = await readStore.position(transactionsModel.name);
  const found: { id: string; position: Position }[] = [];
  for (let after = 0; ;) {
    const page = await readStore.find(transaction.name, {
      filter: { userId, submittedPosition: { gt: after, lte: Math.min(reached, upTo) } },
      sort: [['submittedPosition', 'asc']],
      limit: PAGE_TRANSACTIONS,
    });
    found.push(...page.map(({ id, document }) => ({ id, position: Number(document['submittedPosition']) })));
    if (page.length < PAGE_TRANSACTIONS) break;
    after = found.at(-1)?.position ?? after;
  }
  if (reached >= upTo) return found;
  for await (const { data, position } of readEvery(eventStore, {
    after: reached,
    filter: { types: ['TxSubmitted'] },
  })) {
    if (position > upTo) break;
    if (data['userId'] === userId) found.push({ id: submission.parse(data).transactionId, position });
  }
  return found;
};
