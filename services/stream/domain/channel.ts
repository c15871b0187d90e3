import type { Finality } from '../../../schemas/socket/stream-commands.ts';
import { contractKey } from '../../../schemas/topics.ts';

/** The events that one subscription receives. */
export interface Channel {
  watchId: string;
  chainId: number;
  /** In EIP-55 form. */
  contractAddress: string;
  /** In canonical form. */
  eventSignature: string;
  finality: Finality;
}

/** Returns the public name of the channel. Must never change: clients see it. */
export const channelName = (channel: Channel): string => `${channel.watchId}/${cursorScope(channel)}`;

/**
 * Returns the scope for which every cursor of the channel is signed. Must never change. Does not contain the watch: a
 * cursor is valid in other channels of the same event.
 */
export const cursorScope = ({ chainId, contractAddress, eventSignature, finality }: Channel): string =>
  `${contractKey(chainId, contractAddress)}/${eventSignature}/${finality}`;

/** Returns the key of the channel's messages on the bus. */
export const channelKey = ({ chainId, contractAddress }: Pick<Channel, 'chainId' | 'contractAddress'>): string =>
  contractKey(chainId, contractAddress);
