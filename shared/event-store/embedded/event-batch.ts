import type { EventMetadata } from '../../schemas/events/event.ts';
import { batchesOf, compress, decompress } from '../primitives/stored-batches.ts';
import type { EventToAppend, StoredEvent } from './event-store.ts';
import { LazyStoredEvent } from './stored-event.ts';

/** Fewer events are stored each by itself. */
const EVENTS_MIN = 8;

/** An event as text. */
export interface EventText {
  event: EventToAppend;
  dataText: string;
  metadataText: string;
}

/** The first line of a batch, of its events in their order; `metadata` has each that there is once, and `which` says whose. */
interface Head {
  ids: string[];
  versions: number[];
  times: number[];
  metadata: string[];
  which: number[];
}

/** Yields events of one type that follow each other, no more than one batch has. */
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

/** Events that are stored together have much in common. JSON has no line breaks, so each event's data is a line. */
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

/** @param last where the last of them is */
export const decodeEvents = (
  stored: Uint8Array,
  last: Pick<StoredEvent, 'position' | 'stream' | 'revision' | 'type'>,
): StoredEvent[] => {
  const [first = '', ...dataTexts] = decompress(stored).toString().split('\n');
  const { ids, versions, times, metadata: metadataTexts, which } = JSON.parse(first) as Head;
  const metadata = metadataTexts.map((text) => JSON.parse(text) as EventMetadata);
  return dataTexts.map((dataText, at) => {
    const before = dataTexts.length - 1 - at;
    const [position, revision] = [last.position - before, last.revision - before];
    const [id = '', version = 0, time = 0] = [ids[at], versions[at], times[at]];
    const ofEvent = metadata[which[at] ?? 0] ?? '';
    return new LazyStoredEvent(position, last.stream, revision, id, last.type, version, time, dataText, ofEvent);
  });
};
