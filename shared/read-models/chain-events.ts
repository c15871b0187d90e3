import { z } from 'zod';
import {
  chainEvents,
  chainProgressEvents,
  observedRecord,
  type ObservedRecord,
} from '../../schemas/events/chain-events.ts';
import { watchIdOfRecord } from '../chain/watch-id.ts';
import { readModel } from './read-model.ts';

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
});
export type ChainEventDocument = z.infer<typeof recordDocument>;

/** By the id of a watch: how many of its records are canonical, and how many a reorganisation has reverted. */
const countDocument = z.object({ canonical: z.int(), reverted: z.int() });
type ChainEventCount = z.infer<typeof countDocument>;

/** Records of contract events, in chain order per contract, and their counts. A reverted record is kept and marked. */
export const chainEventsModel = readModel({
  name: 'chain-events-v3',
  collections: {
    // Stored first: the count never includes an event that its record does not have yet.
    record: {
      name: 'chain-events-v3',
      document: recordDocument,
      indexes: [['ContractAddress', 'observedPosition', 'BlockNumber']],
    },
    count: { name: 'chain-event-counts-v3', document: countDocument, indexes: [] },
  },
  // `ChainAdvanced` changes no document. It is followed so that the checkpoint reaches its position at once: whoever
  // reads finalized records waits for that.
  events: { ...chainEvents, ...chainProgressEvents },
  touches: ({ type, data }) =>
    type === 'ChainAdvanced' ? {} : { record: chainEventDocumentId(data), count: watchIdOfRecord(data) },
  evolve: ({ record, count }, { type, data, position }) => {
    if (type === 'ChainAdvanced') return {};
    const isReversal = type === 'ChainEventReverted';
    // After a crash between the two writes, the record has an event that the count does not.
    const index = record?.changes.indexOf(position) ?? -1;
    if (index !== -1) return { count: evolveCount(count, isReversal, index === 0) };
    if (!isChange(record, isReversal, position)) return {};
    return {
      record: {
        ...data,
        WatchId: watchIdOfRecord(data),
        changes: [...(record?.changes ?? []), position],
        observedPosition: isReversal && record ? record.observedPosition : position,
        reverted: isReversal,
      },
      count: evolveCount(count, isReversal, record === undefined),
    };
  },
});

/** Not a change: an observation of a canonical record, a reversal of a reverted one, and an event that comes again. */
const isChange = (record: ChainEventDocument | undefined, isReversal: boolean, position: number): boolean =>
  record ? record.reverted !== isReversal && position > (record.changes.at(-1) ?? 0) : !isReversal;

const evolveCount = (
  { canonical, reverted }: ChainEventCount = { canonical: 0, reverted: 0 },
  isReversal: boolean,
  isFirst: boolean,
): ChainEventCount => {
  if (isReversal) return { canonical: canonical - 1, reverted: reverted + 1 };
  return { canonical: canonical + 1, reverted: isFirst ? reverted : reverted - 1 };
};

const BLOCK_DIGITS = 12;
const LOG_INDEX_DIGITS = 6;

/** The lower bound of the ids of a contract's records from this block on. */
export const chainEventIdFrom = (chainId: number, contractAddress: string, blockNumber: number): string =>
  `${String(chainId)}:${contractAddress.toLowerCase()}:${String(blockNumber).padStart(BLOCK_DIGITS, '0')}`;

/**
 * Ids sort in chain order per contract, so that a range of blocks is a range of ids, and new documents are stored next to
 * each other on disk.
 */
export const chainEventDocumentId = (record: ObservedRecord): string => {
  const { ChainId, ContractAddress, BlockNumber, LogIndex, BlockHash } = record;
  const logIndex = String(LogIndex).padStart(LOG_INDEX_DIGITS, '0');
  return `${chainEventIdFrom(ChainId, ContractAddress, BlockNumber)}:${logIndex}:${BlockHash.slice(2, 18)}:${watchIdOfRecord(record)}`;
};
