import type { ChainSettings } from '../../../shared/config/settings.ts';
import type { ChainReader } from '../../../shared/chain/chain-reader.ts';
import { SupervisedLoop } from '../../../shared/lifecycle/supervised-loop.ts';
import { ChainFollower, type FollowerDependencies } from './chain-follower.ts';

const LOCAL_POLL_MS = 100;
const POLL_MS = 1_000;

export interface ChainToFollow {
  settings: ChainSettings;
  reader: ChainReader;
  /** The development chain beside this process: it may lose blocks. */
  isDevelopment: boolean;
}

/** One loop for each configured chain. */
export class FollowedChains {
  private readonly loops: ReadonlyMap<number, SupervisedLoop>;

  constructor(chains: readonly ChainToFollow[], dependencies: Omit<FollowerDependencies, 'reader'>) {
    this.loops = new Map(
      chains.map(({ settings: { chainId, confirmations, rpcUrls }, reader, isDevelopment }) => {
        const pollMs = rpcUrls.every(isLocal) ? LOCAL_POLL_MS : POLL_MS;
        const loop = new SupervisedLoop(`chain ${String(chainId)}`, dependencies.logger, (signal, working) =>
          ChainFollower.run(
            { chainId, confirmations, pollMs, isDevelopment },
            { ...dependencies, reader },
            signal,
            working,
          ),
        );
        return [chainId, loop];
      }),
    );
  }

  start(): void {
    for (const loop of this.loops.values()) loop.start();
  }

  async stop(): Promise<void> {
    await Promise.all(Array.from(this.loops.values(), (loop) => loop.stop()));
  }

  get areRunning(): boolean {
    return [...this.loops.values()].every(({ state }) => state === 'running');
  }

  /** What keeps a chain from being followed. */
  errorOf(chainId: number): string | null {
    return this.loops.get(chainId)?.lastError ?? null;
  }
}

const isLocal = (url: string): boolean => ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
