import { z } from 'zod';
import { observedRecord } from '../events/chain-events.ts';

/**
 * Collection `chain-events`. Ids sort in chain order per contract, so that the ids alone serve ranges of blocks, and new
 * documents land side by side on disk.
 */
export const chainEventDocument = observedRecord.extend({
  /** Positions of observed, reverted, observed again, … in turn: an odd count up to a position means it stood then. */
  changes: z.array(z.int()),
  /** Position of the newest observation. */
  observedPosition: z.int(),
  reverted: z.boolean(),
});
export type ChainEventDocument = z.infer<typeof chainEventDocument>;

const BLOCK_DIGITS = 12;
const LOG_INDEX_DIGITS = 6;

type Place = Pick<ChainEventDocument, 'ChainId' | 'ContractAddress' | 'BlockNumber' | 'LogIndex' | 'BlockHash'>;

/** Documents of one contract from this block on have ids not before it. */
export const chainEventIdFrom = (chainId: number, contractAddress: string, blockNumber: number): string =>
  `${String(chainId)}:${contractAddress.toLowerCase()}:${String(blockNumber).padStart(BLOCK_DIGITS, '0')}`;

export const chainEventDocumentId = ({ ChainId, ContractAddress, BlockNumber, LogIndex, BlockHash }: Place): string =>
  `${chainEventIdFrom(ChainId, ContractAddress, BlockNumber)}:${String(LogIndex).padStart(LOG_INDEX_DIGITS, '0')}:${BlockHash.slice(2, 18)}`;

/** Collection `chain-event-counts`, by `chainEventCountId`: how many records of a watch stand, and how many were reverted. */
export const chainEventCountDocument = z.object({ standing: z.int(), reverted: z.int() });
export type ChainEventCountDocument = z.infer<typeof chainEventCountDocument>;

export const chainEventCountId = ({
  ChainId,
  ContractAddress,
  EventSignature,
}: Pick<ChainEventDocument, 'ChainId' | 'ContractAddress' | 'EventSignature'>): string =>
  `${String(ChainId)}:${ContractAddress.toLowerCase()}:${EventSignature}`;
