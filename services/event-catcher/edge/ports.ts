import type { ChainReader } from '../../../shared/chain/chain-reader.ts';

/** `ReadonlyMap<number, WatchedChain>`: the chains that are configured, by id. */
export const CHAINS = Symbol('Chains');
/** Of a chain, what a registration asks for. */
export type SupportedChain = Pick<ChainReader, 'head' | 'hasCode'>;

/** `FollowerStatus` */
export const FOLLOWER_STATUS = Symbol('FollowerStatus');
/** How fast watches are filled by this process, and what holds them up. */
export interface FollowerStatus {
  of: (watchId: string) => { eventsPerSecond: number; blocksPerSecond: number };
  errorOf: (watch: { id: string; chainId: number }) => string | null;
}
