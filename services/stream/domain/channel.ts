import type { Finality } from '../../../schemas/socket/stream-commands.ts';
import { contractKey } from '../../../schemas/topics.ts';

/** What one subscription listens to. */
export interface Channel {
  chainId: number;
  /** EIP-55. */
  contractAddress: string;
  /** Canonical. */
  eventSignature: string;
  finality: Finality;
}

/** The channel as clients see it. Public, and part of every cursor: it never changes. */
export const channelName = ({ chainId, contractAddress, eventSignature, finality }: Channel): string =>
  `${contractKey(chainId, contractAddress)}/${eventSignature}/${finality}`;

/** Key of the channel's messages on the bus. */
export const channelKey = ({ chainId, contractAddress }: Channel): string => contractKey(chainId, contractAddress);
