import type { WatchDocument } from '../../../shared/read-models/event-catcher/watches.ts';
import type { z } from 'zod';
import type { eventCatcherRoutes } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { AsOf } from '../../../shared/edge/requests/as-of.ts';
import type { Claimant } from '../../../shared/chain/identifiers/claimant.ts';
import type { Searched } from '../../../shared/chain/identifiers/record-terms.ts';
import { selectWatches } from '../../../shared/chain/identifiers/watch-names.ts';
import { selectByArguments } from './argument-filter.ts';

/** The parameters of a query. */
export type EventQueryParameters = z.output<typeof eventCatcherRoutes.queryEvents.query> & {
  caller: Claimant;
  /** The values that arguments must have, as text, by name. */
  arguments: ReadonlyMap<string, string>;
  /** The state that `asOf` asks for, if it is asked for. */
  earlier?: AsOf | undefined;
};

/** A watch whose records are selected. */
export interface SelectedWatch {
  id: string;
  /** The terms by which its records are found, the same number for each watch. Without terms, all records are found. */
  searched: readonly Searched[];
}

export interface Selection {
  fromBlock: number;
  /** Inclusive. */
  toBlock: number;
  reverted: boolean;
  /** Empty if no record can match. No record belongs to two of them. The first one is preferred to the others. */
  watches: SelectedWatch[];
  /** Whether one log may have records of several of these watches, though one per log is wanted. */
  isOnePerLog: boolean;
}

/** Translates a query into a selection of records. @param finalized the newest final block; -1 if none is known */
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
    watches: selected.map(({ watch, searched }) => ({ id: watch.id, searched: [...byTransaction, ...searched] })),
  };
};
