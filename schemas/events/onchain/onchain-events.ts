import { z } from 'zod';
import { address } from '../../values.ts';
import { event, type EventOf } from '../event.ts';

export const onchainStream = (chainId: number): string => `onchain-${String(chainId)}`;
export const chainOfStream = (stream: string): number => Number(stream.slice('onchain-'.length));

/** Stream `onchain-<chainId>`. */
export const onchainEvents = {
  /** What operations on this chain are sent with. The newest event counts. */
  ChainPrepared: event(
    1,
    z.object({
      entryPoint: address,
      accountFactory: address,
      paymaster: address,
      paymasterOwner: address,
      executors: z.array(address),
    }),
  ),
};
export type OnchainEvent = EventOf<typeof onchainEvents>;
