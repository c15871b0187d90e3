import type { ChainReader } from '../../../shared/chain/chain-reader.ts';

/** `ReadonlyMap<number, SupportedChain>`: the chains that are configured, by id. */
export const CHAINS = Symbol('Chains');
/** The part of a chain reader that a registration needs. */
export type SupportedChain = Pick<ChainReader, 'head' | 'hasCode'>;

/** `FollowerStatus` */
export const FOLLOWER_STATUS = Symbol('FollowerStatus');
/** How fast this process backfills watches, and the errors that delay it. */
export interface FollowerStatus {
  ratesOf: (watchId: string) => { eventsPerSecond: number; blocksPerSecond: number };
  errorOf: (watch: { id: string; chainId: number }) => string | null;
}
