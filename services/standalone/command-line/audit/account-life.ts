import type { JsonObject } from '../../../../schemas/json.ts';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { userStream } from '../../../../schemas/events/account/user-events.ts';
import { historyEvents, type HistorySources } from '../../../../shared/audit/history-events.ts';
import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import type { Position, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import type { PersonalData } from '../../../../shared/key-vault/personal-data.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import { take } from '../../../../shared/primitives/take.ts';
import { usersModel, type UserDocument } from '../../../../shared/read-models/account/users.ts';

const PIECE_EVENTS = 100;

/** An item of a history, as an export has it. */
export interface LifeItem {
  type: string;
  time: string;
  actor: EventMetadata['actor'];
  app: string | null;
  session: string | null;
  requestId: string;
  /** In the clear, as in an export; `null` after an erasure. */
  data: JsonObject | null;
  position: Position;
}

export interface Life {
  /** The account after the last item; `null` once it is erased. */
  user: UserDocument | null;
  erasedAt: string | null;
  items: AsyncGenerator<LifeItem>;
}

interface Sources extends HistorySources {
  personalData: Pick<PersonalData, 'open'>;
}

/** Which account, and until when: later events are left out. */
interface Asked {
  userId: string;
  time: number;
  position: Position;
}

/**
 * Returns an account as it was, folded from the event store, and its history until then. Reads the history twice instead
 * of holding it in memory.
 * @throws CannotStart if no user had this id
 */
export const lifeOf = async (sources: Sources, asked: Asked): Promise<Life> => {
  const stream = userStream(asked.userId);
  const [newest] = await sources.eventStore.read(stream, { direction: 'backwards', limit: 1 });
  if (!newest) throw new CannotStart(`no user has the id ${asked.userId}`);
  if (newest.type === 'UserErased') {
    return { user: null, erasedAt: toIso(newest.time), items: itemsOf(sources, asked, true) };
  }
  let user: UserDocument | undefined;
  for await (const event of openedEvents(sources, asked)) {
    if (usersModel.eventTypes.includes(event.type)) user = usersModel.evolve({ user }, event)['user'] as UserDocument;
  }
  if (!user) throw new CannotStart(`no user had the id ${asked.userId} then`);
  return { user, erasedAt: null, items: itemsOf(sources, asked, false) };
};

async function* itemsOf(sources: Sources, asked: Asked, isErased: boolean): AsyncGenerator<LifeItem> {
  for await (const { type, time, metadata, data, position } of openedEvents(sources, asked)) {
    const { actor, app = null, session = null, correlationId: requestId } = metadata;
    yield { type, time: toIso(time), actor, app, session, requestId, data: isErased ? null : data, position };
  }
}

async function* openedEvents(
  { personalData, ...sources }: Sources,
  { userId, time, position }: Asked,
): AsyncGenerator<StoredEvent> {
  const events = historyEvents(sources, { userId, upTo: position });
  for (let piece = await take(events, PIECE_EVENTS); piece.length > 0; piece = await take(events, PIECE_EVENTS)) {
    for (const event of await personalData.open(piece)) if (event.time <= time) yield event;
  }
}
