import { z } from 'zod';
import {
  chainEvents,
  chainProgressEvents,
  observedRecord,
  type ObservedRecord,
} from '../../../schemas/events/event-catcher/chain-events.ts';
import { eventNameOf, logIdOf } from '../../chain/identifiers/log-id.ts';
import { placeOf, SEGMENT_RECORDS, segmentOf, termsOf } from '../../chain/identifiers/record-terms.ts';
import type { SearchIndex } from '../../read-store/read-store.ts';
import { readModel } from '../read-model.ts';

const recordDocument = observedRecord.extend({
  WatchId: z.string(),
  /**
   * Positions of the events observed, reverted, observed again, … in this order. The record was canonical at a position
   * if an odd number of these are at or before it.
   */
  changes: z.array(z.int()),
  /** Position of the newest observation. */
  observedPosition: z.int(),
  reverted: z.boolean(),
  /** Number of its segment within the watch, from 0. Never changes. */
  segment: z.int(),
});
export type ChainEventDocument = z.infer<typeof recordDocument>;

/** Returns the record of a document, without the members that only the read model needs. */
export const recordIn = (document: ChainEventDocument) => {
  const {
    changes: _changes,
    observedPosition: _position,
    reverted: _reverted,
    segment: _segment,
    ...record
  } = document;
  return record;
};

/** First block, last block, number of canonical records, number of reverted records, position of the newest change. */
const countedSegment = z.tuple([z.int(), z.int(), z.int(), z.int(), z.int()]);
type CountedSegment = z.infer<typeof countedSegment>;
/** By watch id: the numbers of canonical and reverted records, in all and per segment. */
const countDocument = z.object({ canonical: z.int(), reverted: z.int(), segments: z.array(countedSegment) });
export type ChainEventCount = z.infer<typeof countDocument>;

const search: SearchIndex<ChainEventDocument> = {
  segment: (_, { WatchId, segment }) => segmentOf(WatchId, segment),
  terms: (_, document) => termsOf({ watchId: document.WatchId, reverted: document.reverted }, document),
  order: (_, document) => placeOf(document),
};

/** Records of contract events, in chain order per contract, and their counts. A reverted record is kept and marked. */
export const chainEventsModel = readModel({
  name: 'chain-events-v5',
  collections: {
    // Stored first: the count never includes an event that its record does not have yet.
    record: {
      name: 'chain-events-v5',
      document: recordDocument,
      indexes: [['ContractAddress', 'observedPosition', 'BlockNumber']],
      search,
      derived: { Id: logIdOf, EventName: eventNameOf },
    },
    count: { name: 'chain-event-counts-v5', document: countDocument, indexes: [] },
  },
  // `ChainAdvanced` changes no document. The model follows it so that the checkpoint reaches its position at once, for
  // which readers of finalized records wait.
  events: { ...chainEvents, ...chainProgressEvents },
  touches: ({ type, data }) =>
    type === 'ChainAdvanced' ? {} : { record: chainEventDocumentId(data), count: data.WatchId },
  evolve: ({ record, count }, { type, data, position }) => {
    if (type === 'ChainAdvanced') return {};
    const isReversal = type === 'ChainEventReverted';
    // After a crash between the two writes, the record has an event that the count does not.
    const index = record?.changes.indexOf(position) ?? -1;
    if (record && index !== -1)
      return { count: evolveCount(count, { isReversal, isFirst: index === 0, record, position }) };
    if (!isChange(record, isReversal, position)) return {};
    const evolved = {
      ...data,
      changes: [...(record?.changes ?? []), position],
      observedPosition: isReversal && record ? record.observedPosition : position,
      reverted: isReversal,
      segment: record?.segment ?? segmentOfNext(count),
    };
    return {
      record: evolved,
      count: evolveCount(count, { isReversal, isFirst: record === undefined, record: evolved, position }),
    };
  },
});

/** Not a change: an observation of a canonical record, a reversal of a reverted one, and an event delivered again. */
const isChange = (record: ChainEventDocument | undefined, isReversal: boolean, position: number): boolean =>
  record ? record.reverted !== isReversal && position > (record.changes.at(-1) ?? 0) : !isReversal;

/** A record is counted when it is first stored, so its segment is the same in every projector. */
const segmentOfNext = (count: ChainEventCount | undefined): number =>
  count ? Math.floor((count.canonical + count.reverted) / SEGMENT_RECORDS) : 0;

interface CountedChange {
  isReversal: boolean;
  /** The record did not exist before. */
  isFirst: boolean;
  record: ChainEventDocument;
  position: number;
}

const evolveCount = (
  { canonical, reverted, segments }: ChainEventCount = { canonical: 0, reverted: 0, segments: [] },
  { isReversal, isFirst, record: { BlockNumber, segment }, position }: CountedChange,
): ChainEventCount => {
  const moreCanonical = isReversal ? -1 : 1;
  const moreReverted = isReversal ? 1 : isFirst ? 0 : -1;
  const [first, last, ofCanonical, ofReverted] = segments[segment] ?? [BlockNumber, BlockNumber, 0, 0];
  const counted: CountedSegment = [
    Math.min(first, BlockNumber),
    Math.max(last, BlockNumber),
    ofCanonical + moreCanonical,
    ofReverted + moreReverted,
    position,
  ];
  const after = segments.slice();
  after[segment] = counted;
  return { canonical: canonical + moreCanonical, reverted: reverted + moreReverted, segments: after };
};

const BLOCK_DIGITS = 12;
const LOG_INDEX_DIGITS = 6;

/** The lower bound of the ids of a contract's records from this block on. */
export const chainEventIdFrom = (chainId: number, contractAddress: string, blockNumber: number): string =>
  `${String(chainId)}:${contractAddress.toLowerCase()}:${String(blockNumber).padStart(BLOCK_DIGITS, '0')}`;

/**
 * Ids sort in chain order per contract, so that a range of blocks is a range of ids, and new documents are stored next
 * to each other on disk.
 */
export const chainEventDocumentId = (record: ObservedRecord): string => {
  const { ChainId, ContractAddress, BlockNumber, LogIndex, BlockHash, WatchId } = record;
  const logIndex = String(LogIndex).padStart(LOG_INDEX_DIGITS, '0');
  return `${chainEventIdFrom(ChainId, ContractAddress, BlockNumber)}:${logIndex}:${BlockHash.slice(2, 18)}:${WatchId}`;
};
