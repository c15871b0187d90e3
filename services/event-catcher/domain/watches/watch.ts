import type { EventFragment, WatchEvent } from '../../../../schemas/events/event-catcher/watch-events.ts';
import { claimantText, type Claimant } from '../../../../shared/chain/identifiers/claimant.ts';
import { encodeToken, sha256 } from '../../../../shared/primitives/ids.ts';
import { evolveWatch, type Watch } from '../../../../shared/read-models/event-catcher/watches.ts';
import { fragmentText } from '../decoding/event-abi.ts';

export const watchStream = (watchId: string): string => `watch-${watchId}`;

const WATCH_ID = /^wch_[0-9a-z]{26}$/;
/** Whether a text has the form of a watch id. No other text names a stream. */
export const isWatchId = (text: string): boolean => WATCH_ID.test(text);
/** Returns the stream of the watch that a request names; of no watch, if the text cannot be an id. */
export const askedStream = (text: string): string => watchStream(isWatchId(text) ? text : 'unknown');

export interface Watched {
  chainId: number;
  contractAddress: string;
  fragment: EventFragment;
}

/** Derives the id from what is watched, so that everybody who registers the same fragment writes to one stream. */
export const watchIdOf = ({ chainId, contractAddress, fragment }: Watched): string => {
  const text = `${String(chainId)}:${contractAddress.toLowerCase()}:${fragmentText(fragment)}`;
  return `wch_${encodeToken(Buffer.from(sha256(text), 'hex'), 26)}`;
};

type State = Watch | undefined;
export type Registration = Extract<WatchEvent, { type: 'ContractRegistered' }>['data'] & Claimant;

export const watchFold = { initial: undefined as State, evolve: evolveWatch };

/**
 * The first registration creates the watch. A registration by somebody else adds a claim, and ends a pause that the
 * only holder asked for. The watch begins at the earliest block that a claimant wants: a registration moves its start
 * back, or forward once no other claimant wants the earlier blocks.
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

/** The block from which on a claimant wants the watch. */
export const startOf = ({ claimStarts, startBlock }: Watch, claim: string): number =>
  claimStarts?.[claim] ?? startBlock;

/** The first block that any claimant wants, except one of them; `Infinity` if there are no others. */
export const firstWanted = (watch: Watch, but: string): number =>
  watch.claims.reduce((first, claim) => (claim === but ? first : Math.min(first, startOf(watch, claim))), Infinity);

/** Moves the start of a watch, if it changes. */
export const startChange = (watch: Watch, startBlock: number): WatchEvent[] => {
  if (startBlock === watch.startBlock || startBlock === Infinity) return [];
  const type = startBlock < watch.startBlock ? 'WatchExtended' : 'WatchShortened';
  return [{ type, data: { ...about(watch), startBlock } }];
};

export const about = ({ id: watchId, chainId, contractAddress }: Watch) => ({ watchId, chainId, contractAddress });
