import type {
  AsideEvent,
  ChainEvent,
  ChainProgressEvent,
  ChainVerificationEvent,
  ObservedRecord,
} from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { WatchEvent } from '../../../../schemas/events/event-catcher/watch-events.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { recordKey } from '../../domain/observed-records.ts';
import type { Branch, SimulatedBlock, SimulatedChain } from '../../../../shared/testing/chain/simulated-chain.ts';
import { recordsOf } from './simulated-records.ts';
import { isAmong, type Unread } from './unread-ranges.ts';

type Progress = ChainProgressEvent['data'];
type Verification = ChainVerificationEvent['data'];
type CaughtEvent = AsideEvent | ChainEvent | ChainProgressEvent | ChainVerificationEvent | WatchEvent;

interface Registered {
  position: Position;
  watchId: string;
  startBlock: number;
}

/** Follows the stored events of a chain one by one, and notes what is wrong with them. */
export class CatcherInvariants {
  readonly violations: string[] = [];
  progress: Progress | undefined;
  verification: Verification | undefined;
  /** By watch: the records that are observed and not reverted, by their ids. */
  private readonly observed = new Map<string, Map<string, ObservedRecord>>();
  private readonly registered: Registered[] = [];
  /** By watch: the ranges that are deferred. */
  private readonly deferred = new Map<string, AsideEvent['data']['ranges']>();
  /** By watch: the ranges that were gaps at some time. */
  private readonly gaps = new Map<string, Unread[]>();
  private hasStartedAgain = false;

  constructor(
    private readonly chain: SimulatedChain,
    /** Whether providers return all logs, so that progress can be true, and whether nothing ever needs correcting. */
    private readonly tells: { isTrue: boolean; isExact: boolean },
  ) {}

  /** The chain lost final blocks. Until it is read again, claims refer to the former chain. */
  startAgain(): void {
    this.hasStartedAgain = true;
  }

  /** Applies an event that was stored at a position. */
  take({ type, data }: CaughtEvent, position: Position): void {
    switch (type) {
      case 'ContractRegistered':
      case 'WatchExtended':
        this.registered.push({ position, watchId: data.watchId, startBlock: data.startBlock });
        return;
      case 'WatchShortened':
      case 'WatchPaused':
      case 'WatchResumed':
      case 'WatchRemoved':
      case 'WatchReplayRequested':
        return;
      case 'ChainEventObserved':
        this.observe(data);
        return;
      case 'ChainEventReverted':
        if (!this.records(data.WatchId).delete(recordKey(data)))
          this.violations.push(`${nameOf(data)} is reverted and was not observed`);
        return;
      case 'RangesSetAside':
        this.deferred.set(data.watchId, data.ranges);
        for (const range of data.ranges) this.noteGap(data.watchId, range);
        return;
      case 'ChainAdvanced':
        this.progress = data;
        for (const range of data.backfills) for (const id of range.watchIds) this.noteGap(id, range);
        if (data.repeats === undefined && this.tells.isTrue && !this.hasStartedAgain) this.compareProgress(data);
        return;
      case 'ChainVerified':
        this.verification = data;
        if (!this.hasStartedAgain) this.compareVerification(data);
    }
  }

  private observe(record: ObservedRecord): void {
    const observed = this.records(record.WatchId);
    if (observed.has(recordKey(record))) this.violations.push(`${nameOf(record)} is stored twice`);
    const block = this.chain.byHash.get(record.BlockHash);
    if (block && toIso(block.header.timestamp * 1_000) !== record.BlockTime)
      this.violations.push(`${nameOf(record)} is not of ${record.BlockTime}`);
    observed.set(recordKey(record), record);
  }

  /** The records of a watch, in the order in which they were stored last. */
  records(watchId = ''): Map<string, ObservedRecord> {
    const known = this.observed.get(watchId);
    if (known) return known;
    const observed = new Map<string, ObservedRecord>();
    this.observed.set(watchId, observed);
    return observed;
  }

  /** The start blocks of the watches that were registered up to a position. */
  private startsAt(upTo: Position): Map<string, number> {
    const starts = new Map<string, number>();
    for (const { position, watchId, startBlock } of this.registered) {
      if (position <= upTo) starts.set(watchId, Math.min(startBlock, starts.get(watchId) ?? Infinity));
    }
    return starts;
  }

  /**
   * Progress claims everything from the start of a watch to the head except its ranges, and must account for every
   * observed record.
   */
  private compareProgress({ window, backfills, watchesUpTo, head }: Progress): void {
    const branch = this.branchOf(window);
    const starts = this.startsAt(watchesUpTo);
    for (const [watchId, startBlock] of starts) {
      const ranges = [
        ...backfills.filter(({ watchIds }) => watchIds.includes(watchId)),
        ...(this.deferred.get(watchId) ?? []),
      ];
      const isRead = (number: number) => startBlock <= number && !isAmong(ranges, number);
      this.compare(watchId, 'the progress', branch, (number) => number <= head && isRead(number));
    }
    for (const watchId of this.observed.keys()) {
      if (!starts.has(watchId) && this.records(watchId).size > 0)
        this.violations.push(`${watchId} has records before it is added`);
    }
  }

  /** Whether a final block that progress remembers is on the chain. */
  get isAnchored(): boolean {
    const { canonical } = this.chain;
    return (this.progress?.anchors ?? []).some(({ number, hash }) => canonical[number]?.header.hash === hash);
  }

  /** Whether a block was in a gap at some time, so that its records may follow those of later blocks. */
  wasInGap(watchId: string, block: number): boolean {
    return isAmong(this.gaps.get(watchId) ?? [], block);
  }

  private noteGap(watchId: string, range: Unread): void {
    const known = this.gaps.get(watchId) ?? [];
    if (range.gap) this.gaps.set(watchId, [...known, range]);
  }

  /** The unread ranges of a watch. */
  unread(watchId: string): AsideEvent['data']['ranges'] {
    const backfills = this.progress?.backfills.filter(({ watchIds }) => watchIds.includes(watchId)) ?? [];
    return [...backfills, ...(this.deferred.get(watchId) ?? [])];
  }

  private compareVerification({ verified, behind, skipped = [], watchesUpTo }: Verification): void {
    for (const [watchId, startBlock] of this.startsAt(watchesUpTo)) {
      const next = behind.find(({ watchIds }) => watchIds.includes(watchId))?.next;
      const to = next === undefined ? verified : next - 1;
      const left = skipped.filter(({ watchIds }) => watchIds.includes(watchId));
      const isLeft = (number: number) => left.some((range) => range.next <= number && number <= range.to);
      const isVerified = (number: number) => startBlock <= number && number <= to && !isLeft(number);
      this.compare(watchId, 'the verification', this.chain.canonical, isVerified, isVerified);
    }
  }

  /** @param isAccounted whether progress says anything about records in a block */
  private compare(
    watchId: string,
    what: string,
    branch: Branch,
    isClaimed: (number: number) => boolean,
    isAccounted = (_number: number) => true,
  ): void {
    const observed = this.records(watchId);
    const expected = new Set<string>();
    for (const block of branch) {
      if (block.logs.length === 0 || !isClaimed(block.header.number)) continue;
      for (const key of recordsOf(watchId, block)) expected.add(key);
    }
    for (const key of expected)
      if (!observed.has(key)) this.violations.push(`${what} claims ${key}, which is not stored`);
    for (const [key, record] of observed) {
      if (isAccounted(record.BlockNumber) && !expected.has(key))
        this.violations.push(`${what} does not account for ${nameOf(record)}`);
    }
  }

  private branchOf(window: Progress['window']): Branch {
    const { canonical, byHash } = this.chain;
    const [first] = window;
    const blocks: SimulatedBlock[] = [];
    for (let block = byHash.get(first?.hash ?? ''); block; block = byHash.get(block.header.parentHash)) {
      const { number } = block.header;
      if (canonical[number] === block) {
        blocks.push(...canonical.slice(0, number + 1).toReversed());
        break;
      }
      blocks.push(block);
    }
    // A provider may have returned another hash for the block: then that block was never read.
    const rest = window.slice(1).flatMap(({ hash }) => byHash.get(hash) ?? []);
    return [...blocks.toReversed(), ...rest];
  }
}

const nameOf = (record: ObservedRecord): string =>
  `${recordKey(record)} of block ${String(record.BlockNumber)} (${record.Origin})`;
