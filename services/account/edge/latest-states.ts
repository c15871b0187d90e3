import type { LatestState } from '../../../shared/chain/latest-state.ts';

/** The newest state of each configured chain, by chain id. */
export type LatestStates = ReadonlyMap<number, LatestState>;
export const LATEST_STATES = Symbol('LatestStates');
