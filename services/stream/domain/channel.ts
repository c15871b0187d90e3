import type { Finality } from '../../../schemas/socket/stream-commands.ts';
import { contractKey } from '../../../schemas/topics.ts';

/** What one subscription receives. */
export interface Channel {
  watchId: string;
  chainId: number;
  /** With the checksum of EIP-55. */
  contractAddress: string;
  /** In canonical form. */
  eventSignature: string;
  finality: Finality;
}

/** Returns the public name of the channel. It never changes: clients see it. */
export const channelName = (channel: Channel): string => `${channel.watchId}/${cursorScope(channel)}`;

/**
 * Returns what every cursor of the channel is signed for. It never changes. The watch is not in it: in other channels of
 * the same event a cursor means the same place.
 */
export const cursorScope = ({ chainId, contractAddress, eventSignature, finality }: Channel): string =>
  `${contractKey(chainId, contractAddress)}/${eventSignature}/${finality}`;

/** Returns the key of the channel's messages on the bus. */
export const channelKey = ({ chainId, contractAddress }: Channel): string => contractKey(chainId, contractAddress);
