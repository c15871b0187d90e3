import type { OnchainEvent } from '../../../schemas/events/onchain-events.ts';

/** What operations on a chain are sent with. */
export type PreparedChain = OnchainEvent['data'];

export const preparedChainFold = {
  initial: undefined as PreparedChain | undefined,
  evolve: (_: PreparedChain | undefined, { data }: OnchainEvent): PreparedChain => data,
};

/** Records it unless that is how it was. */
export const recordPreparation = (known: PreparedChain | undefined, prepared: PreparedChain): OnchainEvent[] =>
  known && textOf(known) === textOf(prepared) ? [] : [{ type: 'ChainPrepared', data: prepared }];

const textOf = ({ entryPoint, accountFactory, paymaster, paymasterOwner, executors }: PreparedChain): string =>
  [entryPoint, accountFactory, paymaster, paymasterOwner, ...executors].join(' ');
