import { BlocksRefused, type ChainReader } from '../../../../shared/chain/chain-reader.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { isGapOrUnwanted, type Range } from '../../domain/coverage.ts';
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
import { filterFor, type WatchedEvent } from '../watched-event.ts';

/** What is left unread does not hold up the verification of what follows. */
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

/** A watch, with its key if it is due by itself. */
export type Keyed = WatchedEvent & { key?: string };
export const keyOf = ({ id, key = id }: Keyed): string => key;
const replayKey = (watchId: string): string => `${watchId}/replay`;
const skippedKey = ({ watchId, to }: Replay): string => `${watchId}/skipped/${String(to)}`;

/** The keys under which replays and skipped blocks wait for their turns. */
export const waitingKeys = ({ replays, skipped }: Verification): string[] => [
  ...replays.map(({ watchId }) => replayKey(watchId)),
  ...skipped.map(skippedKey),
];

/**
 * What is compared again: replays, and of each watch without one what was skipped, from the first block on that has been read. A replay is
 * wanted by somebody, so that it comes first.
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
 * Counts how often providers refuse blocks that are to be verified. Skips blocks that are refused for good, so that the verification of
 * later blocks continues.
 */
export class UnverifiableBlocks {
  private readonly known = new Map<string, Refusals>();

  constructor(
    private readonly reader: Pick<ChainReader, 'logsOfRange'>,
    private readonly clock: Pick<Clock, 'elapsed'>,
  ) {}

  /**
   * Counts a failure of blocks of watches that are behind, or of a replay, by the key of the first of them.
   * @returns the verification that goes on behind the blocks that are refused for good; `undefined` if there are none
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
