import type { ChainStatus } from '../../../schemas/announcements.ts';
import {
  ChainUnavailable,
  RangeTooLarge,
  StateUnavailable,
  type ChainReader,
} from '../../../shared/chain/chain-reader.ts';
import type { ChainSettings } from '../../../shared/config/settings.ts';
import { leasedLoop } from '../../../shared/loops/leased-loop.ts';
import { Loops } from '../../../shared/loops/loops.ts';
import type { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import { isAborted } from '../../../shared/primitives/is-aborted.ts';
import { isLoopback } from '../../../shared/primitives/loopback.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { BackfillBounds, type BoundsOfBackfill } from './backfill-bounds.ts';
import type { ChainShares } from './chain-shares.ts';
import { followChain } from './chain-follower.ts';
import type { AnnouncedHeads, FollowerDependencies } from './followed-chain.ts';
import { ProgressMeter } from './progress-meter.ts';
import { StoredRecords } from './verify-chain/stored-records.ts';
import { Watches } from './watches.ts';

/** A development chain has its next block at any time, whenever it had the last ones. */
const DEVELOPMENT_TIMES = { pollMs: 100, pollMsMax: 100, verification: { everyMs: 1_000, callMs: 0 } };
const LOCAL_TIMES = { ...DEVELOPMENT_TIMES, pollMsMax: 15_000 };
/** Providers elsewhere count calls: those of the verification come behind, 25 each second. */
const TIMES = { pollMs: 500, pollMsMax: 15_000, verification: { everyMs: 15_000, callMs: 40 } };
/** With so many ranges `ChainAdvanced` has some 850 KB if each is a gap, of the 1 MiB that EventStoreDB takes in one append. */
export const RANGES_MAX = 2_600;

const OWN_FAILURE = 'a store of the event catcher does not answer, or it failed itself: its log says why';

export interface ChainToFollow {
  settings: ChainSettings;
  reader: ChainReader;
  newHeads: AnnouncedHeads;
  /** Whether it is the development chain of this machine, which may lose blocks. */
  isDevelopment: boolean;
}

interface AskedWatch {
  id: string;
  chainId: number;
}

interface Dependencies extends Omit<
  FollowerDependencies,
  'reader' | 'newHeads' | 'watches' | 'meter' | 'bounds' | 'storedRecords'
> {
  readStore: Pick<ReadStore, 'lease' | 'replaceLease' | 'getMany' | 'find' | 'position'>;
  shares: ChainShares;
  /** Of each backfill. */
  most: BoundsOfBackfill;
}

/** Runs one loop for each configured chain. Only one process follows a chain at a time; each follows its share of them. */
export class ChainLoops {
  readonly loops: Loops;
  readonly each: readonly SupervisedLoop[];
  private readonly byChain: ReadonlyMap<number, { loop: SupervisedLoop; meter: ProgressMeter }>;

  constructor(chains: readonly ChainToFollow[], { readStore, most, shares, ...dependencies }: Dependencies) {
    const bounds = new BackfillBounds(dependencies, readStore, most);
    const storedRecords = new StoredRecords(readStore);
    this.byChain = new Map(
      chains.map(({ settings: { chainId, finality, confirmations, rpcUrls }, reader, newHeads, isDevelopment }) => {
        const isLocal = rpcUrls.every(isOfThisMachine);
        const times = isDevelopment ? DEVELOPMENT_TIMES : isLocal ? LOCAL_TIMES : TIMES;
        const chain = { chainId, finality, confirmations, ...times, isLocal, isDevelopment, rangesMax: RANGES_MAX };
        const watches = new Watches(dependencies.eventStore, chainId);
        const meter = new ProgressMeter(dependencies.clock);
        const following = { ...dependencies, reader, newHeads, watches, meter, bounds, storedRecords };
        const loop = leasedLoop({
          name: `chain ${String(chainId)}`,
          leases: readStore,
          logger: dependencies.logger,
          sharing: shares.sharing(chainId),
          run: async (signal, reportRunning, term) => {
            try {
              await followChain(chain, following, signal, reportRunning, term);
            } catch (error) {
              if (!isAborted(signal)) shares.failed(chainId);
              throw error;
            }
          },
        });
        return [chainId, { loop, meter }];
      }),
    );
    this.each = [...Array.from(this.byChain.values(), ({ loop }) => loop), shares.loop];
    this.loops = new Loops(this.each);
  }

  /** What this process knows of each chain. */
  statuses(): ChainStatus[] {
    return Array.from(this.byChain, ([chainId, { loop, meter }]) => ({
      chainId,
      error: chainError(loop, meter),
      warning: meter.chainWarning,
      backfills: meter.statuses(),
    }));
  }

  rangesOf(chainId: number): ProgressMeter['ranges'] {
    return this.byChain.get(chainId)?.meter.ranges ?? { reading: 0, waiting: 0 };
  }

  ratesOf({ id, chainId }: AskedWatch): { eventsPerSecond: number; blocksPerSecond: number } {
    return this.byChain.get(chainId)?.meter.ratesOf(id) ?? { eventsPerSecond: 0, blocksPerSecond: 0 };
  }

  warningOf({ id, chainId }: AskedWatch): string | null {
    return this.byChain.get(chainId)?.meter.warningOf(id) ?? null;
  }

  /** Why a watch, or its chain, cannot be read here; `null` if it can, or if another process follows the chain. */
  errorOf({ id, chainId }: AskedWatch): string | null {
    const chain = this.byChain.get(chainId);
    return chain ? (chain.meter.errorOf(id) ?? chainError(chain.loop, chain.meter)) : null;
  }
}

/** A chain that fails again and again fails in between, too: until its loop runs, or is another's. */
const chainError = (loop: SupervisedLoop, meter: ProgressMeter): string | null =>
  loop.state === 'standby' ? null : (publicReason(loop.lastFailure) ?? meter.chainError);

/** Anyone may read it: what a chain reader says names no host; of what else fails only the log tells. */
const publicReason = (failure: unknown): string | null => {
  if (failure === undefined) return null;
  const isOfChain = [ChainUnavailable, RangeTooLarge, StateUnavailable].some((known) => failure instanceof known);
  return isOfChain && failure instanceof Error ? failure.message : OWN_FAILURE;
};

const isOfThisMachine = (url: string): boolean => isLoopback(new URL(url).hostname);
