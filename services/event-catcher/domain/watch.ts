import type { EventFragment, WatchEvent } from '../../../schemas/events/watch-events.ts';
import { claimantText, type Claimant } from '../../../shared/chain/claimant.ts';
import { watchId, watchIdOfSignature } from '../../../shared/chain/watch-id.ts';
import { evolveWatch, type Watch } from '../../../shared/read-models/watches.ts';
import { fragmentText, signatureOf } from './event-abi.ts';

export const watchStream = (watchId: string): string => `watch-${watchId}`;

const WATCH_ID = /^wch_[0-9a-z]{26}$/;
/** Whether a text may be the id of a watch: other texts name no stream. */
export const isWatchId = (text: string): boolean => WATCH_ID.test(text);

export interface Watched {
  chainId: number;
  contractAddress: string;
  fragment: EventFragment;
}

/** The id follows from what is watched, so that everybody who registers the same fragment writes to one stream. */
export const watchIdOf = (watched: Watched): string => watchId(watched, fragmentText(watched.fragment));

/** The id that the watch has if it was registered while a contract had one watch for each signature. */
export const formerWatchIdOf = (watched: Watched): string =>
  watchIdOfSignature(watched, signatureOf(watched.fragment), watched.fragment.anonymous);

type State = Watch | undefined;
export type Registration = Extract<WatchEvent, { type: 'ContractRegistered' }>['data'] & Claimant;

export const watchFold = { initial: undefined as State, evolve: evolveWatch };

/**
 * The first registration creates the watch. A registration by somebody else adds a claim, keeps the stored start block, and
 * ends a pause that the only holder wanted. An earlier start block extends the watch backwards; a later one changes nothing.
 */
export const registerContract = (watch: State, asked: Registration): WatchEvent[] => {
  if (!watch) return [{ type: 'ContractRegistered', data: asked }];
  const { startBlock } = watch;
  const bySomebodyElse: WatchEvent = { type: 'ContractRegistered', data: { ...asked, startBlock } };
  const resumption: WatchEvent = { type: 'WatchResumed', data: { ...about(watch), isUnbounded: false } };
  const extension: WatchEvent = {
    type: 'WatchExtended',
    data: { ...about(watch), startBlock: asked.startBlock },
  };
  const isHolder = watch.claims.includes(claimantText(asked));
  return [
    ...(isHolder ? [] : [bySomebodyElse]),
    ...(!isHolder && watch.paused === 'app' ? [resumption] : []),
    ...(asked.startBlock < startBlock ? [extension] : []),
  ];
};

/** Whether two fragments are of one watch: they differ in nothing. */
export const isSameFragment = (left: EventFragment, right: EventFragment): boolean =>
  fragmentText(left) === fragmentText(right);

export const about = ({ id: watchId, chainId, contractAddress }: Watch) => ({ watchId, chainId, contractAddress });
