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
 * The first registration creates the watch. A registration by somebody else adds a claim, and ends a pause that the only holder
 * wanted. The watch begins where the first of those who claim it wants it to: a registration moves its start back, or, once nobody
 * else wants earlier blocks, forward.
 */
export const registerContract = (watch: State, asked: Registration): WatchEvent[] => {
  if (!watch) return [{ type: 'ContractRegistered', data: asked }];
  const { startBlock } = watch;
  const claim = claimantText(asked);
  const isHolder = watch.claims.includes(claim);
  // A sole claimant needs no new registration: WatchExtended or WatchShortened moves the start of that claim, too.
  const isKnown = isHolder && (watch.claims.length === 1 || startOf(watch, claim) === asked.startBlock);
  const elsewhere = asked.startBlock === startBlock ? {} : { askedBlock: asked.startBlock };
  const claiming: WatchEvent = { type: 'ContractRegistered', data: { ...asked, startBlock, ...elsewhere } };
  const resumption: WatchEvent = { type: 'WatchResumed', data: { ...about(watch), isUnbounded: false } };
  return [
    ...(isKnown ? [] : [claiming]),
    ...(!isHolder && watch.paused === 'app' ? [resumption] : []),
    ...startChange(watch, Math.min(asked.startBlock, firstWanted(watch, claim))),
  ];
};

/** The block from which on somebody who claims a watch wants it. */
export const startOf = ({ claimStarts, startBlock }: Watch, claim: string): number =>
  claimStarts?.[claim] ?? startBlock;

/** The first block that somebody wants, but for one of those who claim it; `Infinity` if there are no others. */
export const firstWanted = (watch: Watch, but: string): number =>
  watch.claims.reduce((first, claim) => (claim === but ? first : Math.min(first, startOf(watch, claim))), Infinity);

/** The watch begins at another block than before, if it does. */
export const startChange = (watch: Watch, startBlock: number): WatchEvent[] => {
  if (startBlock === watch.startBlock || startBlock === Infinity) return [];
  const type = startBlock < watch.startBlock ? 'WatchExtended' : 'WatchShortened';
  return [{ type, data: { ...about(watch), startBlock } }];
};

/** Whether two fragments are of one watch: they differ in nothing. */
export const isSameFragment = (left: EventFragment, right: EventFragment): boolean =>
  fragmentText(left) === fragmentText(right);

export const about = ({ id: watchId, chainId, contractAddress }: Watch) => ({ watchId, chainId, contractAddress });
