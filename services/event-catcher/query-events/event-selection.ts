import { chainEventIdFrom } from '../../../shared/read-models/chain-events.ts';
import type { WatchDocument } from '../../../shared/read-models/watches.ts';
import type { RecordStatus } from '../../../schemas/http/event-record.ts';
import { matcherByName } from '../../../shared/chain/watch-names.ts';
import type { Filter } from '../../../shared/read-store/read-store.ts';
import { selectByArguments } from './argument-filter.ts';

/** Beyond every block that a document's id can name. */
const BLOCK_NUMBER_MAX = 999_999_999_999;

export type Order = 'asc' | 'desc';

/** What a query asks for. */
export interface EventsQuery {
  chainId: number;
  contractAddress: string;
  eventSignature?: string | undefined;
  txHash?: string | undefined;
  take: number;
  skip: number;
  cursor?: string | undefined;
  fromBlock?: number | undefined;
  /** Inclusive. */
  toBlock?: number | undefined;
  status?: RecordStatus | undefined;
  order: Order;
  /** Texts that arguments must equal, by name. */
  arguments: ReadonlyMap<string, string>;
}

/** From an id on and up to before another. */
interface Ids {
  gte: string;
  lt: string;
}

export interface Selection {
  ids: Ids;
  /** Beside the ids. One for each set of events that is filtered alike; what passes one passes no other. Empty: nothing can match. */
  filters: Filter[];
  /** When the query asks for all records of these events, their canonical signatures: totals are kept. */
  counted: string[] | undefined;
}

/** What of the chain's events is asked for. @param finalized the newest final block; -1 when none is known */
export const selectEvents = (asked: EventsQuery, watches: readonly WatchDocument[], finalized: number): Selection => {
  const { eventSignature, txHash, status } = asked;
  const named = eventSignature === undefined ? [...watches] : watches.filter(matcherByName(eventSignature));
  const selected = selectByArguments(named, asked.arguments);
  const common: Filter = {
    reverted: status === 'reverted',
    ...(txHash !== undefined && { TxHash: txHash }),
  };
  const filters = selected.map(({ filter, watches: alike }): Filter => {
    const isEveryEvent = alike.length === watches.length;
    return { ...common, ...(isEveryEvent ? {} : { EventSignature: { in: signaturesOf(alike) } }), ...filter };
  });
  const isWhole =
    txHash === undefined &&
    asked.fromBlock === undefined &&
    asked.toBlock === undefined &&
    asked.arguments.size === 0 &&
    (status === undefined || status === 'reverted');
  return { ids: idsBetween(asked, finalized), filters, counted: isWhole ? signaturesOf(named) : undefined };
};

const signaturesOf = (watches: readonly WatchDocument[]): string[] => [
  ...new Set(watches.map(({ eventSignature }) => eventSignature)),
];

/** Ids alone say contract and block, and final or not is a matter of the block. */
const idsBetween = (asked: EventsQuery, finalized: number): Ids => {
  const { chainId, contractAddress, status, fromBlock = 0, toBlock = BLOCK_NUMBER_MAX } = asked;
  const from = status === 'observed' ? Math.max(fromBlock, finalized + 1) : fromBlock;
  const to = status === 'finalized' ? Math.min(toBlock, finalized) : toBlock;
  const idFrom = (block: number) => chainEventIdFrom(chainId, contractAddress, Math.min(block, BLOCK_NUMBER_MAX));
  return { gte: idFrom(from), lt: idFrom(to + 1) };
};
