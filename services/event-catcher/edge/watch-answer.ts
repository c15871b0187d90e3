import { watchedContract, type WatchedContract } from '../../../schemas/http/watched-contract.ts';
import type { ChainDocument } from '../../../shared/read-models/chains.ts';
import { isStopped, type WatchDocument } from '../../../shared/read-models/watches.ts';
import { progressOf } from '../domain/watch-progress.ts';
import type { FollowerStatus } from './ports.ts';

/** A watch as an answer has it. One that is stopped does not fail. */
export const watchAnswer = (
  watch: WatchDocument,
  chain: ChainDocument | undefined,
  follower: Pick<FollowerStatus, 'errorOf'>,
): WatchedContract => {
  const hasFailed = !isStopped(watch) && follower.errorOf(watch) !== null;
  return watchedContract.parse({ ...watch, state: hasFailed ? 'failed' : progressOf(watch, chain).state });
};
