import type { WatchDocument } from '../../../shared/read-models/watches.ts';
import type { RecordStatus } from '../../../schemas/http/event-record.ts';
import type { Claimant } from '../../../shared/chain/claimant.ts';
import type { Searched } from '../../../shared/chain/record-terms.ts';
import { recordWatchIds } from '../../../shared/chain/watch-id.ts';
import { selectWatches } from '../../../shared/chain/watch-names.ts';
import { selectByArguments } from './argument-filter.ts';

export type Order = 'asc' | 'desc';

/** The parameters of a query. */
export interface EventQueryParameters {
  chainId: number;
  contractAddress: string;
  eventSignature?: string | undefined;
  watchId?: string | undefined;
  caller: Claimant;
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

/** A watch of which records are asked for. */
export interface SelectedWatch {
  id: string;
  /** The `WatchId` of its records. */
  recordWatchId: string;
  /** What its records are found by: of all watches as many. Without it all are. */
  searched: readonly Searched[];
}

export interface Selection {
  fromBlock: number;
  /** Inclusive. */
  toBlock: number;
  reverted: boolean;
  /** Empty if no record can match. No record is of two. The first is meant before the others. */
  watches: SelectedWatch[];
  /** Whether a log may have records of several of these watches, of which one is asked for. */
  isOnePerLog: boolean;
}

/** Translates a query into what records are found by. @param finalized the newest final block; -1 if none is known */
export const selectEvents = (
  asked: EventQueryParameters,
  watches: readonly WatchDocument[],
  finalized: number,
): Selection => {
  const { eventSignature: name, watchId, caller, txHash, status, fromBlock = 0, toBlock = Infinity } = asked;
  const byTransaction: Searched[] = txHash === undefined ? [] : [{ txHash }];
  const selected = selectByArguments(selectWatches(watches, { name, watchId, caller }), asked.arguments);
  const isAnonymous = ({ watch }: { watch: WatchDocument }) => watch.topic0 === null;
  return {
    isOnePerLog: name === undefined && selected.length > 1 && selected.some(isAnonymous),
    // Whether a record is final depends on its block.
    fromBlock: status === 'observed' ? Math.max(fromBlock, finalized + 1) : fromBlock,
    toBlock: status === 'finalized' ? Math.min(toBlock, finalized) : toBlock,
    reverted: status === 'reverted',
    watches: selected.flatMap(({ watch, searched }) =>
      recordWatchIds(watch).map((recordWatchId) => ({
        id: watch.id,
        recordWatchId,
        searched: [...byTransaction, ...searched],
      })),
    ),
  };
};
