import type { EventFragment, WatchEvent } from '../../../schemas/events/watch-events.ts';
import { watchId, watchIdOfSignature } from '../../../shared/chain/watch-id.ts';
import { evolveWatch, type Watch } from '../../../shared/read-models/watches.ts';
import { fragmentText, signatureOf } from './event-abi.ts';

export const watchStream = (watchId: string): string => `watch-${watchId}`;

export interface Watched {
  chainId: number;
  contractAddress: string;
  fragment: EventFragment;
}

/** The id follows from what is watched, so that two apps that register the same fragment write to one stream. */
export const watchIdOf = (watched: Watched): string => watchId(watched, fragmentText(watched.fragment));

/** The id that the watch has if it was registered while a contract had one watch for each signature. */
export const formerWatchIdOf = (watched: Watched): string =>
  watchIdOfSignature(watched, signatureOf(watched.fragment), watched.fragment.anonymous);

type State = Watch | undefined;
export type Registration = Extract<WatchEvent, { type: 'ContractRegistered' }>['data'];

export const watchFold = { initial: undefined as State, evolve: evolveWatch };

/**
 * The first registration creates the watch. A registration by another app adds that app, and keeps the stored start
 * block. An earlier start block extends the watch backwards; a later one changes nothing.
 */
export const registerContract = (watch: State, asked: Registration): WatchEvent[] => {
  if (!watch) return [{ type: 'ContractRegistered', data: asked }];
  const { id: watchId, chainId, contractAddress, startBlock } = watch;
  const byOtherApp: WatchEvent = { type: 'ContractRegistered', data: { ...asked, startBlock } };
  const extension: WatchEvent = {
    type: 'WatchExtended',
    data: { watchId, chainId, contractAddress, startBlock: asked.startBlock },
  };
  return [
    ...(watch.apps.includes(asked.appId) ? [] : [byOtherApp]),
    ...(asked.startBlock < startBlock ? [extension] : []),
  ];
};

/** Whether two fragments are of one watch: they differ in nothing. */
export const isSameFragment = (left: EventFragment, right: EventFragment): boolean =>
  fragmentText(left) === fragmentText(right);
