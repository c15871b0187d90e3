import type { AbiParameter, EventFragment, WatchEvent } from '../../../schemas/events/watch-events.ts';
import { bareSignature } from '../../../shared/chain/event-signature.ts';
import { encodeToken, sha256 } from '../../../shared/primitives/ids.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { evolveWatch, type Watch } from '../../../shared/read-models/watches.ts';
import { fragmentText, signatureOf } from './event-abi.ts';

export const watchStream = (watchId: string): string => `watch-${watchId}`;

/** Derives the id from what is watched, so that two apps that register the same event write to one stream. */
export const watchIdOf = (watched: { chainId: number; contractAddress: string; fragment: EventFragment }): string => {
  const { chainId, contractAddress, fragment } = watched;
  const text = `${String(chainId)}:${contractAddress.toLowerCase()}:${bareSignature(signatureOf(fragment))}:${String(fragment.anonymous)}`;
  return `wch_${encodeToken(Buffer.from(sha256(text), 'hex'), 26)}`;
};

type State = Watch | undefined;
export type Registration = Extract<WatchEvent, { type: 'ContractRegistered' }>['data'];

export const watchFold = { initial: undefined as State, evolve: evolveWatch };

/**
 * The first registration creates the watch. A registration by another app adds that app, and keeps the stored fragment
 * and start block. An earlier start block extends the watch backwards; a later one changes nothing.
 */
export const registerContract = (watch: State, asked: Registration): WatchEvent[] => {
  if (!watch) return [{ type: 'ContractRegistered', data: asked }];
  if (!isSame(watch.fragment, asked.fragment)) {
    throw new Refusal('contract_conflict', `the event is registered as ${fragmentText(watch.fragment)}`);
  }
  const { id: watchId, chainId, contractAddress, fragment, startBlock } = watch;
  const byOtherApp: WatchEvent = { type: 'ContractRegistered', data: { ...asked, fragment, startBlock } };
  const extension: WatchEvent = {
    type: 'WatchExtended',
    data: { watchId, chainId, contractAddress, startBlock: asked.startBlock },
  };
  return [
    ...(watch.apps.includes(asked.appId) ? [] : [byOtherApp]),
    ...(asked.startBlock < startBlock ? [extension] : []),
  ];
};

const isSame = (left: EventFragment, right: EventFragment): boolean =>
  left.name === right.name && left.anonymous === right.anonymous && areSame(left.inputs, right.inputs);

const areSame = (left: readonly AbiParameter[] = [], right: readonly AbiParameter[] = []): boolean =>
  left.length === right.length &&
  left.every((one, at) => {
    const other = right[at];
    return (
      one.name === other?.name &&
      one.type === other.type &&
      (one.indexed ?? false) === (other.indexed ?? false) &&
      areSame(one.components, other.components)
    );
  });
