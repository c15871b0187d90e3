import type { ChainAcceptanceEvent } from '../../../../schemas/events/event-catcher/chain-events.ts';

type GivenUp = ChainAcceptanceEvent['data'];

export const acceptanceStream = (chainId: number): string => `chain-${String(chainId)}-accepted`;

/** The final block that was given up last. */
export const acceptanceFold = {
  initial: undefined as GivenUp | undefined,
  evolve: (_before: GivenUp | undefined, { data }: ChainAcceptanceEvent): GivenUp => data,
};

/** The operator accepts that the chain gave up this block. Nothing else that the chain does later is accepted by it. */
export const giveUpFinalBlock = (known: GivenUp | undefined, block: GivenUp): ChainAcceptanceEvent[] =>
  known?.hash === block.hash && known.fromBlock === block.fromBlock ? [] : [{ type: 'FinalBlockGivenUp', data: block }];
