import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { evolveWatched, type WatchedEvent } from '../follow-chain/watches/watched-event.ts';

/** The watches of `Transfer` and `Approval` of the example contract. */
export const transferWatch = { ...eventExamples.ContractRegistered, startBlock: 0 };
export const approvalWatch = {
  ...transferWatch,
  watchId: 'wch_approval',
  eventName: 'Approval',
  eventSignature: transferWatch.eventSignature.replace('Transfer', 'Approval'),
  topic0: '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925',
  fragment: { ...transferWatch.fragment, name: 'Approval' },
};
/** What another app may register for the same logs: all parameters indexed, so that none can be decoded. */
export const wrongWatch = {
  ...transferWatch,
  watchId: 'wch_wrong',
  eventSignature: 'Transfer(address indexed,address indexed,uint256 indexed)',
  fragment: {
    ...transferWatch.fragment,
    inputs: transferWatch.fragment.inputs.map((input) => ({ ...input, indexed: true })),
  },
};
/** An anonymous event with the layout of all logs that are mined. */
export const anonymousWatch = {
  ...transferWatch,
  watchId: 'wch_anonymous',
  eventName: 'Noted',
  eventSignature: 'Noted(bytes32 indexed,address indexed,address indexed,uint256)',
  topic0: null,
  fragment: {
    name: 'Noted',
    anonymous: true,
    inputs: ['bytes32', 'address', 'address', 'uint256'].map((type, at) => ({ name: '', type, indexed: at < 3 })),
  },
};

/** A watch after its first registration. */
export const watched = (data: typeof transferWatch & { headBlock?: number }): WatchedEvent => {
  const watch = evolveWatched(undefined, { type: 'ContractRegistered', data }, 0);
  if (!watch) throw new Error('a registration makes a watch');
  return watch;
};
