import { z } from 'zod';
import {
  chainEvents,
  chainProgressEvents,
  observedRecord,
  type ObservedRecord,
} from '../../schemas/events/chain-events.ts';
import { readModel } from './read-model.ts';

const recordDocument = observedRecord.extend({
  /** Positions of observed, reverted, observed again, … in turn: an odd count up to a position means it was canonical then. */
  changes: z.array(z.int()),
  /** Position of the newest observation. */
  observedPosition: z.int(),
  reverted: z.boolean(),
});
export type ChainEventDocument = z.infer<typeof recordDocument>;

/** By `chainEventCountId`: how many records of a watch the chain has, and how many it had before a reorganisation. */
const countDocument = z.object({ canonical: z.int(), reverted: z.int() });
type ChainEventCount = z.infer<typeof countDocument>;

/** Caught contract events, in chain order per contract, and how many there are; a reverted one stays and says so. */
export const chainEventsModel = readModel({
  name: 'chain-events-v2',
  collections: {
    // Before their count: what it counts they know.
    record: {
      name: 'chain-events',
      document: recordDocument,
      indexes: [['ContractAddress', 'observedPosition', 'BlockNumber']],
    },
    count: { name: 'chain-event-counts-v2', document: countDocument, indexes: [] },
  },
  // Nothing is made of the last one: that what it calls final has come this far is told at once.
  events: { ...chainEvents, ...chainProgressEvents },
  touches: ({ type, data }) =>
    type === 'ChainAdvanced' ? {} : { record: chainEventDocumentId(data), count: chainEventCountId(data) },
  evolve: ({ record, count }, { type, data, position }) => {
    if (type === 'ChainAdvanced') return {};
    const isReversal = type === 'ChainEventReverted';
    // What its record knows already a count may not, after a crash between the two.
    const index = record?.changes.indexOf(position) ?? -1;
    if (index !== -1) return { count: evolveCount(count, isReversal, index === 0) };
    if (!isChange(record, isReversal, position)) return {};
    return {
      record: {
        ...data,
        changes: [...(record?.changes ?? []), position],
        observedPosition: isReversal && record ? record.observedPosition : position,
        reverted: isReversal,
      },
      count: evolveCount(count, isReversal, record === undefined),
    };
  },
});

/** A record that is told what it already is does not change, then or when the event comes again. */
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

/** Documents of one contract from this block on have ids not before it. */
export const chainEventIdFrom = (chainId: number, contractAddress: string, blockNumber: number): string =>
  `${String(chainId)}:${contractAddress.toLowerCase()}:${String(blockNumber).padStart(BLOCK_DIGITS, '0')}`;

/**
 * Ids sort in chain order per contract, so that the ids alone serve ranges of blocks, and new documents land side by side
 * on disk.
 */
export const chainEventDocumentId = ({
  ChainId,
  ContractAddress,
  BlockNumber,
  LogIndex,
  BlockHash,
}: Pick<ObservedRecord, 'ChainId' | 'ContractAddress' | 'BlockNumber' | 'LogIndex' | 'BlockHash'>): string =>
  `${chainEventIdFrom(ChainId, ContractAddress, BlockNumber)}:${String(LogIndex).padStart(LOG_INDEX_DIGITS, '0')}:${BlockHash.slice(2, 18)}`;

export const chainEventCountId = ({
  ChainId,
  ContractAddress,
  EventSignature,
}: Pick<ObservedRecord, 'ChainId' | 'ContractAddress' | 'EventSignature'>): string =>
  `${String(ChainId)}:${ContractAddress.toLowerCase()}:${EventSignature}`;
