import { BlocksRefused, RangeTooLarge } from '../../../shared/chain/chain-reader.ts';

/** What a provider that does not answer as it should says, and which setting helps. */
export const withRemedy = (error: Error): string => {
  if (error instanceof BlocksRefused)
    return `${error.message}: add an endpoint that has these blocks to "rpcUrls" of this chain in CHAINS`;
  if (error instanceof RangeTooLarge)
    return `${error.message}: add an endpoint that takes such requests to "rpcUrls" of this chain in CHAINS`;
  return `${error.message}: check "rpcUrls" of this chain in CHAINS`;
};
