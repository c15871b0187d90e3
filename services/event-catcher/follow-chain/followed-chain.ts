import type { WindowBlock } from '../../../schemas/events/chain-events.ts';
import type { BlockHeader } from '../../../shared/chain/chain-reader.ts';
import type { Window } from '../domain/local-chain.ts';

export interface FollowedChain {
  chainId: number;
  confirmations: number;
  pollMs: number;
  /** A development chain may lose blocks or begin anew; any other that does is refused. */
  isDevelopment: boolean;
}

/** The chain contradicts a block that was final. */
export class DeeperThanFinality extends Error {
  override readonly name = 'DeeperThanFinality';
  constructor(chainId: number) {
    super(`chain ${String(chainId)} contradicts a block that was final: check its RPC endpoints`);
  }
}

/** The window cannot go on from where it is: a new one has to be begun, before anything else runs on it. */
export class FootingLost extends Error {
  override readonly name = 'FootingLost';
}

const WALK_BLOCKS_MAX = 500;

/**
 * A head so far away is not walked to block by block: the blocks between are read as ranges. Then no block of the window
 * is in the next one.
 */
export const isFar = (window: Window<WindowBlock>, header: BlockHeader, confirmations: number): boolean =>
  header.number - (window.at(-1) ?? window[0]).number > confirmations + WALK_BLOCKS_MAX;

export const toWindowBlock = (
  { number, hash, parentHash, timestamp }: BlockHeader,
  since: WindowBlock['since'],
): WindowBlock => ({ number, hash, parentHash, timestamp, since });
