import type { BackfillRange } from '../../../schemas/events/chain-events.ts';
import type { ChainReader } from '../../../shared/chain/chain-reader.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { LeaseTerm } from '../../../shared/loops/leased-loop.ts';
import type { Logger } from 'pino';
import { pause } from '../../../shared/primitives/pause.ts';
import { WakeUp } from '../../../shared/primitives/wake-up.ts';
import { Backfiller } from './backfiller.ts';
import { ChainAppends, type AppendDependencies } from './chain-appends.ts';
import { ChainLedger } from './chain-ledger.ts';
import { FootingLost, type FollowedChain } from './followed-chain.ts';
import { Footing } from './footing.ts';
import { HeadWalker } from './head-walker.ts';
import type { ProgressMeter } from './progress-meter.ts';
import type { Registration, Registrations } from './registrations.ts';
import { Semaphore } from './semaphore.ts';
import { stoppable } from './stoppable-reader.ts';
import { WatchRoster } from './watch-roster.ts';

export interface FollowerDependencies extends AppendDependencies {
  reader: ChainReader;
  registrations: Registrations;
  meter: ProgressMeter;
  logger: Logger;
}

/** So many chunks of blocks are asked for, or wait to be stored, at a time: of all backfills of a chain together. */
const CHUNKS_AT_ONCE = 4;

/**
 * Follows one chain. What must stay true:
 * - the window is linked, and its blocks' records are stored before a checkpoint names them;
 * - a watch is live only when everything before the window, and in it, is stored;
 * - only final blocks are read as ranges;
 * - before it looks at what lies behind the checkpoint, nothing of an earlier follower can arrive any more;
 * - whatever fails, running again from the newest checkpoint stores nothing twice and misses nothing.
 */
export class ChainFollower {
  private readonly roster: WatchRoster;
  private readonly walker: HeadWalker;
  private readonly chunks = new Semaphore(CHUNKS_AT_ONCE);
  /** Rings when a range is covered. */
  private readonly covered = new WakeUp();

  private constructor(
    private readonly chain: FollowedChain,
    private readonly dependencies: FollowerDependencies,
    private readonly ledger: ChainLedger,
    /** What has to end before another may begin. */
    private readonly running: Promise<unknown>[],
  ) {
    const { reader, logger } = dependencies;
    this.roster = new WatchRoster(reader, ledger, chain.rangesMax);
    this.walker = new HeadWalker(chain, reader, ledger, this.roster, logger);
  }

  /** Follows until the signal aborts, or something fails: then run it again. @param working called at each step forward */
  static async run(
    chain: FollowedChain,
    dependencies: FollowerDependencies,
    signal: AbortSignal,
    working: () => void,
    term: LeaseTerm,
  ): Promise<void> {
    term.leavesInFlight = !term.nothingInFlightBefore;
    while (!signal.aborted) {
      try {
        await ChainFollower.followFromCheckpoint(chain, dependencies, signal, working, term);
      } catch (error) {
        if (!(error instanceof FootingLost)) throw error;
        working();
        await pause(chain.pollMs, signal);
      }
    }
  }

  private static async followFromCheckpoint(
    chain: FollowedChain,
    dependencies: FollowerDependencies,
    signal: AbortSignal,
    working: () => void,
    term: LeaseTerm,
  ): Promise<void> {
    const stop = new AbortController();
    const stopping = AbortSignal.any([signal, stop.signal]);
    const appends = new ChainAppends(dependencies, stopping, term.leavesInFlight);
    const running: Promise<unknown>[] = [];
    try {
      const ledger = await ChainLedger.load({ ...dependencies, appends }, chain.chainId);
      const reader = stoppable(dependencies.reader, stopping);
      const follower = new ChainFollower(chain, { ...dependencies, reader }, ledger, running);
      await follower.follow(stopping, working);
    } finally {
      stop.abort();
      await Promise.allSettled(running);
      term.leavesInFlight = appends.leavesInFlight;
    }
  }

  private async follow(signal: AbortSignal, working: () => void): Promise<void> {
    const { reader, registrations, logger } = this.dependencies;
    const registered = await registrations.all(signal);
    for (const one of registered) if (one.position <= this.ledger.watchesUpTo) this.roster.restore(one);
    // Also those the checkpoint does not know: something may have been stored of them behind it.
    const contracts = new Set(registered.flatMap((one) => (one.kind === 'registered' ? [one.watch.contract] : [])));
    await this.ledger.recover([...contracts], signal);
    const footing = new Footing(this.chain, reader, this.ledger, this.roster, logger);
    const found = await reader.head();
    // Before any backfill: one that joined now would ask for blocks that are no longer of the chain.
    await this.ledger.exclusively(async () => {
      await footing.find(found);
      await this.walker.approach(found);
    });
    const { promise: failed, reject } = Promise.withResolvers<never>();
    const guard = (work: Promise<unknown>) => {
      this.running.push(work);
      work.catch(reject);
    };
    for (const range of this.ledger.backfills) guard(this.fill(range, signal));
    guard(
      registrations.follow(this.ledger.watchesUpTo, signal, async (added, position) => {
        for await (const ranges of this.take(added, position, signal)) {
          for (const range of ranges) guard(this.fill(range, signal));
        }
      }),
    );
    const head = this.followHead(signal, working);
    this.running.push(head);
    await Promise.race([failed, head]);
  }

  /** Takes all of these registrations, the last of them once others' ranges are covered. @throws when the signal aborts */
  private async *take(
    registrations: readonly Registration[],
    upTo: Position,
    signal: AbortSignal,
  ): AsyncGenerator<readonly BackfillRange[]> {
    for (let left = registrations; left.length > 0;) {
      const seen = this.covered.rung;
      const { ranges, waiting } = await this.ledger.exclusively(() => this.roster.take(left, upTo));
      yield ranges;
      left = waiting;
      if (left.length > 0) await this.covered.wait(seen, signal);
      signal.throwIfAborted();
    }
  }

  private async followHead(signal: AbortSignal, working: () => void): Promise<void> {
    while (!signal.aborted) {
      const head = await this.dependencies.reader.head();
      if (head.hash !== this.ledger.window?.at(-1)?.hash) {
        await this.ledger.exclusively(() => this.walker.approach(head));
      } else {
        await this.ledger.exclusively(() => this.ledger.checkpointNowAndThen());
      }
      working();
      await pause(this.chain.pollMs, signal);
    }
  }

  private fill(range: BackfillRange, signal: AbortSignal): Promise<void> {
    const { reader, meter } = this.dependencies;
    const dependencies = { reader, meter, ledger: this.ledger, chunks: this.chunks };
    const filled = new Backfiller(dependencies, this.roster.watchOf(range), range).run(signal);
    return filled.finally(() => {
      meter.succeeded(range.watchId);
      this.covered.ring();
    });
  }
}
