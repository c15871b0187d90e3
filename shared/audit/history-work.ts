import type { ExportedItem, HistoryLine } from '../../schemas/http/account/history.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { StoredEvent } from '../event-store/event-store.ts';
import { openedData, openedSalt, openedValue, type DataKeys } from '../key-vault/sealed-members.ts';
import { hashedMembers, toHistoryLine } from '../read-models/account/history-line.ts';

/** A stored event in the form that is passed to another thread, which parses the data. */
export type HandedEvent = Omit<StoredEvent, 'data'>;

export const handed = (event: StoredEvent): HandedEvent => {
  const { stream, revision, position, id, type, schemaVersion, time, dataText, metadata } = event;
  return { stream, revision, position, id, type, schemaVersion, time, dataText, metadata };
};

/** Work: format the lines of an export. */
export interface LinesWork {
  kind: 'lines';
  events: readonly HandedEvent[];
  /** The numbers of their leaves in the transparency log. */
  leaves: readonly number[];
  keys: DataKeys;
  /** The hash of the previous line. */
  previous: string;
  /** Whether the user was erased, so that no line has data. */
  isErased: boolean;
}

export interface Lines {
  /** NDJSON; `undefined` if the user was erased meanwhile. */
  text: string | undefined;
  /** The hash of each line. */
  hashes: string[];
}

/** Work: decrypt every sealed text in documents. */
export interface OpenWork {
  kind: 'open';
  documents: readonly JsonObject[];
  keys: DataKeys;
}

export type HistoryWork = LinesWork | OpenWork;
export type HistoryAnswer = Lines | JsonObject[];

export const workOnHistory = (work: HistoryWork): HistoryAnswer => {
  switch (work.kind) {
    case 'lines':
      return linesOf(work);
    case 'open':
      return work.documents.map((document) => openedValue(document, work.keys) as JsonObject);
  }
};

const parsed = (event: HandedEvent) => ({ ...event, data: JSON.parse(event.dataText) as JsonObject });

const linesOf = ({ events, leaves, keys, previous, isErased }: LinesWork): Lines => {
  const hashes: string[] = [];
  let text = '';
  for (const [at, event] of events.map(parsed).entries()) {
    const line = toHistoryLine(event, hashes.at(-1) ?? previous);
    hashes.push(line.hash);
    const shown = isErased ? { data: null, salt: null } : shownOf(event, line.salt === '', keys);
    if (!isErased && shown.salt === null) return { text: undefined, hashes };
    const exported = toExportedItem({ ...line, ...shown }, event, leaves[at] ?? NaN);
    text += `${JSON.stringify(exported)}\n`;
  }
  return { text, hashes };
};

/** Orders the members as the schema does. The verification refuses any other order. */
export const toExportedItem = (
  line: HistoryLine,
  { stream, revision, id, schemaVersion, metadata }: Omit<HandedEvent, 'dataText'>,
  leaf: number,
): ExportedItem => ({
  ...hashedMembers(line),
  actor: { type: line.actor.type, id: line.actor.id },
  ...{ leaf, stream, revision, id, schemaVersion, metadata: metadata as JsonObject },
});

/** An event stored without a digest gets the digest of its data as stored, so it is shown in the stored form. */
const shownOf = (
  event: ReturnType<typeof parsed>,
  isStoredForm: boolean,
  keys: DataKeys,
): Pick<ExportedItem, 'data' | 'salt'> => {
  if (isStoredForm) return { data: event.data, salt: '' };
  return { data: openedData(event, keys), salt: openedSalt(event, keys) };
};
