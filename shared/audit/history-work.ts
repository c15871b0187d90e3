import type { UserEvent } from '../../schemas/events/user-events.ts';
import type { ExportedItem } from '../../schemas/http/history.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { StoredEvent } from '../event-store/event-store.ts';
import { openedData, openedSalt, openedValue, type DataKeys } from '../key-vault/sealed-members.ts';
import { evolveUser, type UserDocument } from '../read-models/users.ts';
import { toHistoryLine } from '../read-models/history-line.ts';

/** A stored event as it is handed to another thread. Its data is parsed there. */
export type HandedEvent = Pick<StoredEvent, 'type' | 'revision' | 'position' | 'time' | 'dataText' | 'metadata'>;

export const handed = ({ type, revision, position, time, dataText, metadata }: StoredEvent): HandedEvent => ({
  ...{ type, revision, position, time, dataText, metadata },
});

/** Lines of an export. */
export interface LinesWork {
  kind: 'lines';
  events: readonly HandedEvent[];
  keys: DataKeys;
  /** The hash of the line before. */
  previous: string;
  /** Whether the user was erased: no line has any data. */
  isErased: boolean;
}

export interface Lines {
  /** NDJSON; `undefined` if the user was erased meanwhile. */
  text: string | undefined;
  /** The hash of the last line. */
  hash: string;
}

/** A user after more events of its stream. */
export interface FoldWork {
  kind: 'fold';
  events: readonly HandedEvent[];
  keys: DataKeys;
  user: UserDocument | undefined;
}

/** Documents with everything in them opened that is sealed. */
export interface OpenWork {
  kind: 'open';
  documents: readonly JsonObject[];
  keys: DataKeys;
}

export type HistoryWork = LinesWork | FoldWork | OpenWork;
export type HistoryAnswer = Lines | UserDocument | undefined | JsonObject[];

export const workOnHistory = (work: HistoryWork): HistoryAnswer => {
  switch (work.kind) {
    case 'lines':
      return linesOf(work);
    case 'fold':
      return folded(work);
    case 'open':
      return work.documents.map((document) => openedValue(document, work.keys) as JsonObject);
  }
};

const parsed = ({ dataText, ...event }: HandedEvent) => ({ ...event, data: JSON.parse(dataText) as JsonObject });

const linesOf = ({ events, keys, previous, isErased }: LinesWork): Lines => {
  let hash = previous;
  let text = '';
  for (const event of events.map(parsed)) {
    const line = toHistoryLine(event, hash);
    ({ hash } = line);
    const shown = isErased ? { data: null, salt: null } : shownOf(event, line.salt === '', keys);
    if (!isErased && shown.salt === null) return { text: undefined, hash };
    text += `${JSON.stringify(inOrder({ ...line, ...shown }))}\n`;
  }
  return { text, hash };
};

/** Every line has its members in the order of the schema. Whoever verifies it refuses another. */
const inOrder = ({ type, time, actor, app, session, requestId, ...line }: ExportedItem): ExportedItem => {
  const { data, position, previous, digest, salt, hash } = line;
  const by = { type: actor.type, id: actor.id };
  return { type, time, actor: by, app, session, requestId, data, position, previous, digest, salt, hash };
};

/** Without a digest of its own, an event has that of its data as it is stored, and is shown so. */
const shownOf = (
  event: ReturnType<typeof parsed>,
  isStoredForm: boolean,
  keys: DataKeys,
): Pick<ExportedItem, 'data' | 'salt'> => {
  if (isStoredForm) return { data: event.data, salt: '' };
  return { data: openedData(event, keys), salt: openedSalt(event, keys) };
};

const folded = ({ events, keys, user }: FoldWork): UserDocument | undefined => {
  let then = user;
  for (const event of events.map(parsed)) {
    const data = openedData(event, keys);
    // Only events of the user's stream are handed over, and each was checked against its definition before it was stored.
    then = evolveUser(then, { type: event.type, data } as unknown as UserEvent, event);
  }
  return then;
};
