import type { ChainStatus } from '../../../../schemas/announcements.ts';
import {
  ChainUnavailable,
  RangeTooLarge,
  StateUnavailable,
  type ChainReader,
} from '../../../../shared/chain/chain-reader.ts';
import type { ChainSettings } from '../../../../shared/config/chain-settings.ts';
import { leasedLoop } from '../../../../shared/loops/leased-loop.ts';
import { Loops } from '../../../../shared/loops/loops.ts';
import type { SupervisedLoop } from '../../../../shared/loops/supervised-loop.ts';
import { isAborted } from '../../../../shared/primitives/waiting/is-aborted.ts';
import { isLoopback } from '../../../../shared/primitives/loopback.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { NOT_FOLLOWED, type FollowedStatus, type FollowerStatus } from '../../edge/ports.ts';
import { BackfillBounds, type BoundsOfBackfill } from '../backfill/backfill-bounds.ts';
import type { ChainShares } from './chain-shares.ts';
import { followChain } from '../chain-follower.ts';
import type { AnnouncedHeads, FollowerDependencies } from '../followed-chain.ts';
import { ProgressMeter } from './progress-meter.ts';
import { StoredRecords } from '../verification/stored-records.ts';
import { Watches } from '../watches/watches.ts';

/** A development chain may mine at any time, so it is polled at a fixed rate. */
const DEVELOPMENT_TIMES = { pollMs: 100, pollMsMax: 100, verification: { everyMs: 1_000, callMs: 0 } };
const LOCAL_TIMES = { ...DEVELOPMENT_TIMES, pollMsMax: 15_000 };
/** Remote providers count calls: with 40 ms for each call, the verification makes at most 25 calls each second. */
const TIMES = { pollMs: 500, pollMsMax: 15_000, verification: { everyMs: 15_000, callMs: 40 } };
/**
 * With this many unread ranges `ChainAdvanced` has about 850 KB if each is a gap: refused blocks, with the reason.
 * EventStoreDB takes at most 1 MiB in one append.
 */
export const RANGES_MAX = 2_600;

const OWN_FAILURE = 'a store of the event catcher does not answer, or it failed itself: its log says why';

export interface ChainToFollow {
  settings: ChainSettings;
  reader: ChainReader;
  newHeads: AnnouncedHeads;
  /** Whether the chain is a development chain on this machine: such a chain may lose blocks. */
  isDevelopment: boolean;
}

interface Dependencies extends Omit<
  FollowerDependencies,
  'reader' | 'newHeads' | 'watches' | 'meter' | 'bounds' | 'storedRecords'
> {
  readStore: Pick<ReadStore, 'lease' | 'replaceLease' | 'renewLease' | 'getMany' | 'find' | 'position'>;
  shares: ChainShares;
  most: BoundsOfBackfill;
}

/**
 * Runs one loop for each configured chain. Only one process follows a chain at a time, and each process follows its
 * share of the chains.
 */
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

  /** Returns the error, the warning and the backfills of each configured chain, as this process knows them. */
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

  /** Returns the rates, error and warning of a watch. Knows nothing of a chain that another process follows. */
  statusOf({ id, chainId }: Parameters<FollowerStatus['statusOf']>[0]): FollowedStatus {
    const chain = this.byChain.get(chainId);
    if (!chain) return NOT_FOLLOWED;
    const { loop, meter } = chain;
    const error = meter.errorOf(id) ?? chainError(loop, meter);
    return { ...meter.ratesOf(id), error, warning: meter.warningOf(id) };
  }
}

/**
 * Returns why a chain cannot be read; `null` if it can, or if this process is on standby. While the chain's loop waits
 * for the next attempt, returns the error of the last one.
 */
const chainError = (loop: SupervisedLoop, meter: ProgressMeter): string | null =>
  loop.state === 'standby' ? null : (publicReason(loop.lastFailure) ?? meter.chainError);

/**
 * Returns the reason of a failure in words that anybody may read: the text of a chain reader's error, which names no
 * host, or a fixed text that refers to the log.
 */
const publicReason = (failure: unknown): string | null => {
  if (failure === undefined) return null;
  const isOfChain = [ChainUnavailable, RangeTooLarge, StateUnavailable].some((known) => failure instanceof known);
  return isOfChain && failure instanceof Error ? failure.message : OWN_FAILURE;
};

const isOfThisMachine = (url: string): boolean => isLoopback(new URL(url).hostname);
