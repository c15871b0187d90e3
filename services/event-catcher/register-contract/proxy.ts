import type { WatchedProxy } from '../../../schemas/events/watch-events.ts';
import { ChainUnavailable, StateUnavailable } from '../../../shared/chain/chain-reader.ts';
import { DeadlineExceeded, withinDeadline } from '../../../shared/primitives/within-deadline.ts';
import type { SupportedChain } from '../edge/ports.ts';

/** A registration waits no longer to be told. */
const TOLD_WITHIN_MS = 1_500;

/**
 * Finds which contract a proxy runs; `null` for a contract that is none. Where no provider tells, it is `undefined`: what a
 * contract runs changes nothing in how it is watched.
 */
export const findProxy = async (
  chain: Pick<SupportedChain, 'proxyOf'>,
  contractAddress: string,
): Promise<WatchedProxy | null | undefined> => {
  try {
    return await withinDeadline('the chain', TOLD_WITHIN_MS, chain.proxyOf(contractAddress.toLowerCase()));
  } catch (error) {
    const isUntold = [ChainUnavailable, StateUnavailable, DeadlineExceeded].some((kind) => error instanceof kind);
    if (isUntold) return undefined;
    throw error;
  }
};
