import type { AbiParameter } from '../../../../schemas/events/event-catcher/watch-events.ts';
import type { WatchDocument } from '../../../../shared/read-models/event-catcher/watches.ts';
import { signatureOf } from '../../domain/decoding/event-abi.ts';
import { canonicalSignature } from '../../../../shared/chain/identifiers/event-signature.ts';
import { topic0Of } from '../../domain/decoding/event-abi.ts';

/** Returns a watch of an event with these parameters. */
export const aWatch = (eventName: string, ...inputs: AbiParameter[]): WatchDocument => {
  const fragment = { name: eventName, anonymous: false, inputs };
  return {
    id: `wch_${eventName}`,
    chainId: 1,
    contractAddress: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
    eventName,
    eventSignature: canonicalSignature(signatureOf(fragment)),
    topic0: topic0Of(fragment),
    fragment,
    startBlock: 0,
    proxy: null,
    claims: ['app_1'],
    isRemoved: false,
    paused: null,
    isUnbounded: false,
    claimPositions: { app_1: 1 },
    createdAt: '2026-01-02T12:00:00.000Z',
    createdPosition: 1,
    claimedSince: 1,
    readSince: 1,
  };
};
