import { chainEventIdFrom } from '../../../shared/read-models/chain-events.ts';
import type { WatchDocument } from '../../../shared/read-models/watches.ts';
import type { RecordStatus } from '../../../schemas/http/event-record.ts';
import { recordWatchIds } from '../../../shared/chain/watch-id.ts';
import { selectWatches } from '../../../shared/chain/watch-names.ts';
import type { Filter } from '../../../shared/read-store/read-store.ts';
import { selectByArguments } from './argument-filter.ts';

/** The largest block number that fits the id of a document. */
const BLOCK_NUMBER_MAX = 999_999_999_999;

export type Order = 'asc' | 'desc';

/** The parameters of a query. */
export interface EventQueryParameters {
  chainId: number;
  contractAddress: string;
  eventSignature?: string | undefined;
  watchId?: string | undefined;
  appId: string;
  txHash?: string | undefined;
  take: number;
  skip: number;
  cursor?: string | undefined;
  fromBlock?: number | undefined;
  /** Inclusive. */
  toBlock?: number | undefined;
  status?: RecordStatus | undefined;
  order: Order;
  /** The values that arguments must have, as text, by name. */
  arguments: ReadonlyMap<string, string>;
}

/** A range of document ids: from `gte`, up to but without `lt`. */
interface IdRange {
  gte: string;
  lt: string;
}

export interface Selection {
  ids: IdRange;
  /**
   * Further filters, one for each group of events that is filtered alike. No record passes more than one. Empty if no
   * record can match.
   */
  filters: Filter[];
  /** The `WatchId`s of the records if the query asks for all that have them, whose number is stored. */
  counted: string[] | undefined;
  /** The watches of the records, by `WatchId`. */
  watchIds: ReadonlyMap<string, string>;
}

/** Translates a query into ids and filters. @param finalized the newest final block; -1 if none is known */
export const selectEvents = (
  asked: EventQueryParameters,
  watches: readonly WatchDocument[],
  finalized: number,
): Selection => {
  const { eventSignature: name, watchId, appId, txHash, status } = asked;
  const named = selectWatches(watches, { name, watchId, appId });
  const selected = selectByArguments(named, asked.arguments);
  const common: Filter = {
    reverted: status === 'reverted',
    ...(txHash !== undefined && { TxHash: txHash }),
  };
  const filters = selected.map(({ filter, watches: alike }): Filter => {
    const isEveryEvent = alike.length === watches.length;
    return { ...common, ...(isEveryEvent ? {} : { WatchId: { in: alike.flatMap(recordWatchIds) } }), ...filter };
  });
  const isWhole =
    txHash === undefined &&
    asked.fromBlock === undefined &&
    asked.toBlock === undefined &&
    asked.arguments.size === 0 &&
    (status === undefined || status === 'reverted');
  const watchIds = new Map(named.flatMap((watch) => recordWatchIds(watch).map((id) => [id, watch.id] as const)));
  return { ids: idsBetween(asked, finalized), filters, counted: isWhole ? [...watchIds.keys()] : undefined, watchIds };
};

/**
 * Returns the ids of the contract's records in the blocks of the query. Whether a record is final depends on its block.
 */
const idsBetween = (asked: EventQueryParameters, finalized: number): IdRange => {
  const { chainId, contractAddress, status, fromBlock = 0, toBlock = BLOCK_NUMBER_MAX } = asked;
  const from = status === 'observed' ? Math.max(fromBlock, finalized + 1) : fromBlock;
  const to = status === 'finalized' ? Math.min(toBlock, finalized) : toBlock;
  const idFrom = (block: number) => chainEventIdFrom(chainId, contractAddress, Math.min(block, BLOCK_NUMBER_MAX));
  return { gte: idFrom(from), lt: idFrom(to + 1) };
};
