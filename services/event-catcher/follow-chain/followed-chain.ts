export interface FollowedChain {
  chainId: number;
  confirmations: number;
  pollMs: number;
  /** A development chain may lose blocks or begin anew; any other that does is refused. */
  isDevelopment: boolean;
  /** A checkpoint names every range that is to be read: no others begin while these are so many. */
  rangesMax: number;
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
