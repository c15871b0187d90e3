import type { Finality } from '../../../schemas/socket/stream-commands.ts';
import { contractKey } from '../../../schemas/topics.ts';

/** What one subscription receives. */
export interface Channel {
  chainId: number;
  /** With the checksum of EIP-55. */
  contractAddress: string;
  /** In canonical form. */
  eventSignature: string;
  finality: Finality;
}

/** Returns the public name of the channel. It never changes: clients see it, and every cursor is signed for it. */
export const channelName = ({ chainId, contractAddress, eventSignature, finality }: Channel): string =>
  `${contractKey(chainId, contractAddress)}/${eventSignature}/${finality}`;

/** Returns the key of the channel's messages on the bus. */
export const channelKey = ({ chainId, contractAddress }: Channel): string => contractKey(chainId, contractAddress);
