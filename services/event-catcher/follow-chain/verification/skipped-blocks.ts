import { BlocksRefused, type ChainReader } from '../../../../shared/chain/chain-reader.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { isGapOrUnwanted, type Range } from '../../domain/backfill/coverage.ts';
import {
  cutReplay,
  firstRead,
  skip,
  splitSkipped,
  type Replay,
  type ToVerify,
  type Verification,
} from '../../domain/verification.ts';
import { findRefusedEndAfter } from '../../edge/find-refused-end.ts';
import { countRefusal, isRefusedLongEnough, type Refusals } from '../unread-blocks/refusals.ts';
import { filterFor, type WatchedEvent } from '../watches/watched-event.ts';

/** Lets the verification skip unread ranges that are gaps or that nobody wants, so that later blocks are verified. */
export const skipUnreadRanges = (
  verification: Verification,
  watches: ReadonlyMap<string, WatchedEvent>,
  ranges: ReadonlyMap<string, readonly Range[]>,
): Verification => {
  let after = verification;
  for (const { watchId, next } of [...verification.behind, ...verification.replays]) {
    const watch = watches.get(watchId);
    const range =
      watch && ranges.get(watchId)?.find((one) => one.next <= next && next <= one.to && isGapOrUnwanted(one, watch));
    if (range) after = skip(after, range, range.next);
  }
  return after;
};

/** A watch, with the `key` under which it waits for its turn if that is not the watch's id. */
export type Keyed = WatchedEvent & { key?: string };
export const keyOf = ({ id, key = id }: Keyed): string => key;
const replayKey = (watchId: string): string => `${watchId}/replay`;
const skippedKey = ({ watchId, to }: Replay): string => `${watchId}/skipped/${String(to)}`;

/**
 * Returns the keys of everything that waits for its turn to be verified: watches that are behind, replays (blocks that
 * a client wants compared again), and skipped blocks.
 */
export const waitingKeys = ({ behind, replays, skipped }: Verification): string[] => [
  ...behind.map(({ watchId }) => watchId),
  ...replays.map(({ watchId }) => replayKey(watchId)),
  ...skipped.map(skippedKey),
];

/**
 * Returns the blocks to compare again: first the replays, which clients requested, then blocks that the verification
 * skipped, from the first one that has been read by now. Leaves out skipped blocks of watches with a replay.
 */
export const replaysAndOtherSkipped = (
  replays: readonly Replay[],
  skipped: readonly Replay[],
  ranges: ReadonlyMap<string, readonly Range[]>,
): (Replay & { key: string })[] => {
  const replayed = new Set(replays.map(({ watchId }) => watchId));
  const others = skipped.filter(({ watchId }) => !replayed.has(watchId));
  return [
    ...replays.map((one) => ({ ...one, key: replayKey(one.watchId) })),
    ...others.map((one) => ({
      ...one,
      key: skippedKey(one),
      next: firstRead(ranges.get(one.watchId) ?? [], one.next),
    })),
  ];
};

/**
 * Counts how often providers refuse blocks that are to be verified. Blocks that are refused for good are skipped, so
 * that later blocks are verified.
 */
export class UnverifiableBlocks {
  private readonly known = new Map<string, Refusals>();
  private readonly mostByKey = new Map<string, number>();

  constructor(
    private readonly reader: Pick<ChainReader, 'logsOfRange'>,
    private readonly clock: Pick<Clock, 'elapsed'>,
  ) {}

  /** Returns the most blocks that one comparison may take for a key: a watch, a replay, or skipped blocks. */
  blocksMost(key: string): number {
    return this.mostByKey.get(key) ?? Infinity;
  }

  /**
   * After a refusal of `blocks` blocks, halves how many blocks the next comparison takes for each of `keys`; at least
   * one.
   */
  narrow(keys: readonly string[], blocks: number): void {
    for (const key of keys) this.mostByKey.set(key, Math.max(1, Math.floor(blocks / 2)));
  }

  widen(keys: readonly string[]): void {
    for (const key of keys) this.mostByKey.set(key, 2 * this.blocksMost(key));
  }

  /** Forgets the maximum of every key that is not in `keys`. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.mostByKey.keys()) if (!keys.has(key)) this.mostByKey.delete(key);
  }

  /**
   * Counts a failed comparison of a watch that is behind, of a replay or of skipped blocks. If the provider refuses
   * block `from` for good, skips the refused blocks.
   * @returns the verification that continues after the skipped blocks; `undefined` if no blocks are skipped
   * @throws ChainUnavailable
   */
  async skip(
    verification: Verification,
    { from, watches, left, isReplay }: ToVerify<Keyed>,
    error: unknown,
  ): Promise<Verification | undefined> {
    const [lead] = watches;
    if (!lead || left) return undefined;
    const isNext = ({ watchId, next }: { watchId: string; next: number }) => watchId === lead.id && next === from;
    const replay = isReplay ? verification.replays.find(isNext) : undefined;
    const again = isReplay
      ? verification.skipped.find(({ watchId, next, to }) => watchId === lead.id && next <= from && from <= to)
      : undefined;
    const key = keyOf(lead);
    if (!replay && !again && !verification.behind.some(isNext)) return undefined;
    const nowMs = this.clock.elapsed();
    const counted = countRefusal(this.known.get(key), { error, block: from, nowMs });
    this.known.delete(key);
    if (!counted || !(error instanceof BlocksRefused)) return undefined;
    this.known.set(key, counted);
    if (!isRefusedLongEnough(counted, error, nowMs)) return undefined;
    const blocks = { from, to: replay?.to ?? again?.to ?? verification.verified };
    const last = await findRefusedEndAfter(this.reader, filterFor(watches), blocks);
    if (last === undefined) return undefined;
    if (replay) return cutReplay(verification, lead.id, last);
    if (again) return last < again.to ? splitSkipped(verification, again, last) : undefined;
    return watches.reduce((after, { id }) => skip(after, { watchId: id, to: last }, from), verification);
  }
}
