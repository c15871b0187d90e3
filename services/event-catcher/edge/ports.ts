import type { ChainReader } from '../../../shared/chain/chain-reader.ts';

/** `ReadonlyMap<number, WatchedChain>`: the chains that are configured, by id. */
export const CHAINS = Symbol('Chains');
/** Of a chain, what a registration asks for. */
export type WatchedChain = Pick<ChainReader, 'head' | 'hasCode'>;

/** `FollowerProgress` */
export const PROGRESS = Symbol('FollowerProgress');
/** How fast watches are filled by this process, and what holds them up. */
export interface FollowerProgress {
  of: (watchId: string) => { eventsPerSecond: number; blocksPerSecond: number };
  errorOf: (watch: { id: string; chainId: number }) => string | null;
}
