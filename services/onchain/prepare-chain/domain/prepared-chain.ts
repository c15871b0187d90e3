import type { OnchainEvent } from '../../../../schemas/events/onchain/onchain-events.ts';

/** The contracts with which operations are sent on a chain. */
export type PreparedChain = OnchainEvent['data'];

export const preparedChainFold = {
  initial: undefined as PreparedChain | undefined,
  evolve: (_: PreparedChain | undefined, { data }: OnchainEvent): PreparedChain => data,
};

/** Records the preparation, unless it is recorded already. */
export const recordPreparation = (known: PreparedChain | undefined, prepared: PreparedChain): OnchainEvent[] =>
  known && textOf(known) === textOf(prepared) ? [] : [{ type: 'ChainPrepared', data: prepared }];

const textOf = ({ entryPoint, accountFactory, paymaster, paymasterOwner, executors }: PreparedChain): string =>
  [entryPoint, accountFactory, paymaster, paymasterOwner, ...executors].join(' ');
