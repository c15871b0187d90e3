import {
  advance,
  initialProgress,
  fallBehind,
  resetProgress,
  blocksToFinish,
  cover,
  rewind,
  replaceWindow,
  finish,
  defer,
  skipAhead,
  stopWatch,
  storedAt,
  resumeDeferred,
  addWatch,
  extendWatch,
  setWatchesUpTo,
  type ChainProgress,
  type Transition,
} from '../../domain/chain-progress.ts';
import { allRanges, liveWatches, type CoveredWatch, type Range } from '../../domain/backfill/coverage.ts';
import { leaveGap, splitAtStart } from '../../domain/backfill/left-ranges.ts';
import type { Header } from '../../domain/window/window.ts';
import { linkedWindow, tipOf, type LinkedBlock } from '../../../../shared/chain/window.ts';
import { applied, CONFIRMATIONS, ModelledBlocks } from './modelled-blocks.ts';
import { ModelledRecords } from './modelled-records.ts';

export const WATCHES = ['a', 'b'] as const;
export type WatchId = (typeof WATCHES)[number];

/**
 * A model of a chain, of what was stored of it for two watches, and of its progress. Each step stores exactly what its
 * transition requires, and nothing if the transition is refused.
 */
export class ModelledChain {
  private progress: ChainProgress;
  private readonly blocks = new ModelledBlocks();
  private position = 0;
  /** In order of registration. The first one of a watch creates it, the others extend it. */
  private readonly registered: (CoveredWatch & { id: WatchId; position: number })[] = [];
  /** By block number: each watch has one record in every block. */
  private readonly records = new ModelledRecords(WATCHES);

  constructor() {
    this.progress = initialProgress(this.blocks.windowAtHead(), 0);
  }

  mine(blocks: number): void {
    this.blocks.mine(blocks);
  }

  reorganise(depth: number): void {
    this.blocks.reorganise(depth);
  }

  replaceChain(): void {
    this.blocks.replace();
    this.change(resetProgress(this.blocks.windowAtHead()), () => this.records.revertFrom(0));
  }

  /** Registers a watch, or extends it backwards. */
  register(id: WatchId, block: number): void {
    const startBlock = Math.min(block, this.startOf(id, Infinity) - 1);
    if (startBlock >= 0) this.registered.push({ id, startBlock, position: ++this.position });
  }

  addNext(): void {
    const { watchesUpTo } = this.progress;
    const next = this.registered.find(({ position }) => position > watchesUpTo);
    if (!next && this.position > watchesUpTo) this.change(setWatchesUpTo(this.position));
    if (!next) return;
    if (this.startOf(next.id, watchesUpTo) === Infinity) this.change(addWatch(next, next.position));
    else this.extend(next);
  }

  /** Adds a registration or an extension that was added before, which must be refused. */
  addAgain(id: WatchId, isExtension: boolean): void {
    const again = this.registered.find((one) => one.id === id && one.position <= this.progress.watchesUpTo);
    if (!again) return;
    if (isExtension) this.extend(again);
    else this.change(addWatch(again, again.position));
  }

  /** Goes one block nearer to the head, back to a common block first if there was a reorganisation. */
  walk(): void {
    const { window } = this.progress;
    const known = this.newestKnown();
    const next = this.blocks.chain[known.number + 1];
    if (known !== tipOf(window)) this.rewind(known.hash);
    else if (next) this.advance(next);
  }

  /** Advances by any block, including one that does not follow the tip. */
  advanceBy(number: number): void {
    const header = this.blocks.chain[number];
    if (header) this.advance(header);
  }

  /** Rewinds to any block, including one that is not in the window. */
  rewindTo(number: number): void {
    this.rewind(this.blocks.chain[number]?.hash ?? 'unknown');
  }

  skipAhead(): void {
    const last = this.newestKnown();
    const removed = this.progress.window.filter(({ number }) => number > last.number);
    this.change(skipAhead(this.blocks.windowAtHead(), last.number, this.watches()), () => this.records.revert(removed));
  }

  /** Covers any blocks, including some that are not the next ones of a range. */
  cover(id: WatchId, from: number, blocks: number): void {
    const read = this.blocks.chain.slice(from, from + blocks);
    this.change(cover(id, { from, to: from + blocks - 1 }), () => this.store(id, read));
  }

  /** Covers the next blocks of a range, possibly more than it has. */
  coverNext(at: number, blocks: number): void {
    const range = this.rangeAt(at);
    if (range) this.cover(range.watchId as WatchId, range.next, blocks);
  }

  /** Once everything that is registered was added, a watch is stopped. */
  stop(id: WatchId): void {
    if (this.registered.some(({ position }) => position > this.progress.watchesUpTo)) return;
    const watch = this.watches().find((one) => one.id === id);
    this.position += 1;
    if (watch) this.change(stopWatch(watch, this.position));
  }

  /** Once everything that is registered was added, a watch is wanted from another block on. */
  moveStart(id: WatchId, block: number): void {
    if (this.registered.some(({ position }) => position > this.progress.watchesUpTo)) return;
    const watch = this.watches().find((one) => one.id === id);
    this.position += 1;
    if (watch && watch.startBlock <= block) this.change(splitAtStart(watch, block, this.position));
  }

  /** The next blocks of a range cannot be read, possibly more than it has. */
  leaveGap(at: number, blocks: number): void {
    const range = this.rangeAt(at);
    const left = { to: (range?.next ?? 0) + blocks - 1, gap: { reason: 'pruned', since: '' } };
    if (range) this.change(leaveGap(range, left, { wantedFrom: 0 }));
  }

  /** Final blocks are replaced, and the follower goes on with what the chain says now. */
  giveUpFinal(depth: number): void {
    const first = Math.min(this.blocks.giveUpFinal(depth), this.progress.window[0].number);
    const replaced = replaceWindow(this.blocks.windowAtHead(), first - 1, this.watches());
    this.change(replaced, () => this.records.revertFrom(first));
  }

  fallBehind(id: WatchId): void {
    this.change(fallBehind(this.watches().filter((watch) => watch.id === id)));
  }

  /** Finishes a range, possibly one that has blocks to read before that. */
  finishRange(at: number): void {
    const range = this.rangeAt(at);
    if (range) this.finishOne(range);
  }

  private rangeAt(at: number): Range | undefined {
    const { backfills } = this.progress;
    return backfills[at % Math.max(1, backfills.length)];
  }

  defer(id: WatchId): void {
    this.change(defer([id]));
  }

  resumeDeferred(id: WatchId): void {
    this.change(resumeDeferred([id]));
  }

  storeProgress(): void {
    this.change(storedAt(++this.position));
  }

  /**
   * Does everything that is left to do, in a bounded number of rounds. The first round also tries what is not allowed
   * yet.
   */
  finish(): void {
    for (let rounds = 0; rounds < 50 && !this.isFinished; rounds += 1) {
      this.addNext();
      this.walk();
      for (const id of WATCHES) this.resumeDeferred(id);
      for (const range of this.progress.backfills) {
        const id = range.watchId as WatchId;
        if (rounds === 0) this.cover(id, range.next + 1, 1);
        if (range.next >= this.progress.window[0].number) this.finishOne(range);
        this.cover(id, range.next, 1);
      }
    }
  }

  get isFinished(): boolean {
    const { window, watchesUpTo } = this.progress;
    const isAtHead = tipOf(window).hash === this.blocks.chain.at(-1)?.hash;
    return isAtHead && this.ranges.length === 0 && this.registered.every(({ position }) => position <= watchesUpTo);
  }

  private get ranges(): readonly Range[] {
    return [...allRanges(this.progress)];
  }

  /** The invariant that is violated, if any. */
  get fault(): string | undefined {
    const { window, position } = this.progress;
    if (this.records.isStoredTwice) return 'something is stored twice';
    if (!linkedWindow(window)) return 'the window is not linked';
    if (window.length > CONFIRMATIONS + 1) return 'the window holds more blocks than may be reorganised';
    if (window.some(({ since }) => since > position)) return 'a block of the window is younger than the progress';
    const ends = ({ joins }: Range) => (joins ? window[0] : tipOf(window)).number;
    if (this.ranges.some((range) => range.next < range.from || range.to > ends(range))) return 'a range ends too late';
    for (const id of WATCHES) {
      const fault = this.faultOf(id);
      if (fault) return `${fault} of ${id}`;
    }
    return undefined;
  }

  /**
   * Reads the progress as consumers of the stored event do: it claims everything from the start to the head, except the
   * ranges.
   */
  private faultOf(id: WatchId): string | undefined {
    const { window, watchesUpTo } = this.progress;
    const start = this.startOf(id, watchesUpTo);
    const ranges = this.ranges.filter(({ watchId }) => watchId === id);
    if (ranges.filter(({ joins }) => joins).length > 1) return 'two joining ranges';
    const first = window[0].number;
    let claimed = 0;
    for (let number = start; number <= tipOf(window).number; number += 1) {
      if (ranges.some(({ next, to, joins }) => next <= number && (joins || number <= to))) continue;
      const found = this.records.get(id).get(number);
      const block = window[number - first];
      const hash = (block ?? this.blocks.chain[number])?.hash;
      if (!found || found.hash !== hash) return `block ${String(number)} is claimed and not stored`;
      if (block && found.position <= block.since) return `block ${String(number)} is stored before its position since`;
      claimed += 1;
    }
    return this.records.get(id).size > claimed ? 'more is stored than is claimed' : undefined;
  }

  private extend({ id, startBlock, position }: CoveredWatch & { id: WatchId; position: number }): void {
    const watch = { id, startBlock: this.startOf(id, this.progress.watchesUpTo) };
    this.change(extendWatch(watch, startBlock, position));
  }

  private finishOne(range: Range): void {
    this.change(finish(range), () => this.store(range.watchId as WatchId, blocksToFinish(this.progress, range)));
  }

  private advance(header: Header): void {
    const live = liveWatches(this.progress, this.watches(), header.number).filter(
      ({ startBlock }) => startBlock <= header.number,
    );
    this.change(advance(header, { number: header.number - CONFIRMATIONS }), () => {
      for (const { id } of live) this.store(id, [header]);
    });
  }

  private rewind(hash: string): void {
    const at = this.progress.window.findIndex((block) => block.hash === hash);
    this.change(rewind(hash), () => this.records.revert(this.progress.window.slice(at + 1)));
  }

  /** Applies a transition, and stores what belongs to it. If the transition is refused, nothing is stored. */
  private change(transition: Transition, store?: () => void): void {
    const next = applied(transition, this.progress);
    if (!next) return;
    store?.();
    this.progress = next;
  }

  private store(id: WatchId, blocks: readonly LinkedBlock[]): void {
    for (const { number, hash } of blocks) {
      this.records.store(id, number, { hash, position: ++this.position });
    }
  }

  /** The newest block of the window that is on the chain. */
  private newestKnown(): LinkedBlock {
    const { window } = this.progress;
    return window.findLast(({ number, hash }) => this.blocks.chain[number]?.hash === hash) ?? window[0];
  }

  private startOf(id: WatchId, upTo: number): number {
    return this.registered.findLast((one) => one.id === id && one.position <= upTo)?.startBlock ?? Infinity;
  }

  /** The watches that were added. */
  private watches() {
    return WATCHES.map((id) => ({ id, startBlock: this.startOf(id, this.progress.watchesUpTo) })).filter(
      ({ startBlock }) => startBlock < Infinity,
    );
  }
}
