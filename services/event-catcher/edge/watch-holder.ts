import { ownHolder, type ClaimCaller } from '../../../shared/chain/watch-names.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import { isWatchId, watchFold, watchStream } from '../domain/watch.ts';

/** Returns the stream of a watch that a request names; of none, if it cannot be an id. */
export const askedStream = (watchId: string): string => watchStream(isWatchId(watchId) ? watchId : 'unknown');

/** Returns whose claim on a watch a command of this caller means. */
export const holderOf = async (
  transactor: Transactor,
  { watchId, ...caller }: ClaimCaller & { watchId: string },
): Promise<string> => {
  const { state } = await transactor.load(askedStream(watchId), watchFold);
  return ownHolder(caller, (holder) => state?.apps.includes(holder) === true);
};
