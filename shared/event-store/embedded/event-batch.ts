import type { EventMetadata } from '../../../schemas/events/event.ts';
import { batchesOf, compress, decompress } from '../../primitives/sqlite/stored-batches.ts';
import type { EventToAppend, StoredEvent } from '../event-store.ts';
import { LazyStoredEvent } from '../stored-event.ts';

/** Shorter runs are stored as one row per event. */
const EVENTS_MIN = 8;

/** An event as text. */
export interface EventText {
  event: EventToAppend;
  dataText: string;
  metadataText: string;
}

/**
 * The first line of a batch. The lists are in the order of the events, except `metadata`: it has each distinct text
 * once, and `which` has the index of each event's text.
 */
interface Head {
  ids: string[];
  versions: number[];
  times: number[];
  metadata: string[];
  which: number[];
}

/** Yields consecutive events of one type, at most a batch of them. */
export const runsOf = (events: readonly EventToAppend[]): Generator<EventText[]> =>
  batchesOf(asTexts(events), {
    charactersOf: ({ dataText }) => dataText.length,
    isApart: ({ event }, before) => event.type !== before.event.type,
  });

function* asTexts(events: readonly EventToAppend[]): Generator<EventText> {
  let metadata: unknown;
  let metadataText = '';
  for (const event of events) {
    if (event.metadata !== metadata) {
      metadata = event.metadata;
      metadataText = JSON.stringify(metadata);
    }
    yield { event, dataText: event.dataText ?? JSON.stringify(event.data), metadataText };
  }
}

export const isBatch = (run: readonly EventText[]): boolean => run.length >= EVENTS_MIN;

/**
 * Encodes events as one text, because events of one append have much in common. JSON has no line breaks, so each
 * event's data is a line.
 */
export const encodeEvents = (run: readonly EventText[]): Uint8Array => {
  const metadata = [...new Set(run.map(({ metadataText }) => metadataText))];
  const head: Head = {
    ids: run.map(({ event }) => event.id),
    versions: run.map(({ event }) => event.schemaVersion),
    times: run.map(({ event }) => event.time),
    metadata,
    which: run.map(({ metadataText }) => metadata.indexOf(metadataText)),
  };
  return compress([JSON.stringify(head), ...run.map(({ dataText }) => dataText)].join('\n'));
};

/** @param last stream, type, revision and position of the last event */
export const decodeEvents = (
  stored: Uint8Array,
  last: Pick<StoredEvent, 'position' | 'stream' | 'revision' | 'type'>,
): StoredEvent[] => {
  const [first = '', ...dataTexts] = decompress(stored).toString().split('\n');
  const { ids, versions, times, metadata: metadataTexts, which } = JSON.parse(first) as Head;
  // Events that share a text share the object.
  const parsed: EventMetadata[] = [];
  const metadataOf = (text: number) => (parsed[text] ??= JSON.parse(metadataTexts[text] ?? '') as EventMetadata);
  return dataTexts.map((dataText, at) => {
    const before = dataTexts.length - 1 - at;
    const [position, revision] = [last.position - before, last.revision - before];
    const [id = '', version = 0, time = 0] = [ids[at], versions[at], times[at]];
    const ofEvent = () => metadataOf(which[at] ?? 0);
    return new LazyStoredEvent(position, last.stream, revision, id, last.type, version, time, dataText, ofEvent);
  });
};
