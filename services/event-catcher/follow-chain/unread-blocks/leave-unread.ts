import type { ObservedRecord } from '../../../../schemas/events/chain-events.ts';
import type { BlocksRefused } from '../../../../shared/chain/chain-reader.ts';
import { toIso, type Clock } from '../../../../shared/primitives/clock.ts';
import { findRange, lastBlockOf, type Range } from '../../domain/coverage.ts';
import { leaveGap } from '../../domain/left-ranges.ts';
import type { ChainProgress } from '../../domain/chain-progress.ts';
import type { FollowedChain } from '../followed-chain.ts';
import type { ChainWriter, SyncSteps } from '../store-changes/chain-writer.ts';
import { belongsTo, filterFor } from '../watched-event.ts';
import { findRefusedEndAfter } from '../../edge/find-refused-end.ts';

/**
 * The most gaps of one watch, but for a last one, which has all that is left. A provider that refuses scattered blocks would otherwise
 * add gaps without end.
 */
const GAPS_MAX = 50;
/** In bytes of JSON. What a provider says may be long, and each gap has it. */
export const REASON_MAX = 160;

interface Dependencies {
  chain: Pick<FollowedChain, 'reader' | 'watches'>;
  writer: ChainWriter;
  clock: Pick<Clock, 'now'>;
}

/**
 * Stores the refused next blocks of ranges as gaps, so that the ranges continue after them. Reverts an earlier follower's unconfirmed
 * records in these blocks, but not in later ones.
 * @returns the gaps
 * @throws ChainUnavailable
 */
export const leaveUnread = async (
  { chain, writer, clock }: Dependencies,
  ranges: readonly Range[],
  { refusal }: BlocksRefused,
): Promise<Range[]> => {
  const { progress } = writer;
  const [first] = current(ranges, progress);
  if (!first) return [];
  const watches = ranges.map(({ watchId }) => chain.watches.of(progress, watchId));
  const from = first.next;
  const blocks = { from, to: lastBlockOf(progress.window, first) };
  // The range may have been divided since it was refused.
  const to = await findRefusedEndAfter(chain.reader, filterFor(watches), blocks);
  if (to === undefined) return [];
  const gap = {
    reason: shortened(`no provider gives these blocks: ${refusal.reason}`),
    since: toIso(clock.now()),
  };
  const leave = function* (now: ChainProgress): SyncSteps {
    const left = current(ranges, now).flatMap((range) =>
      range.next === from ? [{ range, end: endOf(range, to, now), watch: chain.watches.of(now, range.watchId) }] : [],
    );
    if (left.length === 0) return;
    const isTheirs = (record: ObservedRecord) =>
      left.some(
        ({ end, watch }) => from <= record.BlockNumber && record.BlockNumber <= end && belongsTo(watch, record),
      );
    // A gap that is refused as a whole stays as it is, but for what an earlier follower has stored of it.
    const changed = left.filter(({ range, end }) => range.gap === undefined || end < range.to);
    yield {
      isOrphan: isTheirs,
      ...(changed.length > 0 && {
        transition: (before: ChainProgress) =>
          changed.reduce((after, { range, end, watch }) => leaveGap(range, { to: end, gap }, watch)(after), before),
      }),
    };
  };
  await writer.commit((now) => leave(now));
  const ids = new Set(ranges.map(({ watchId }) => watchId));
  return writer.progress.backfills.filter(
    (range) => range.gap && range.next <= from && from <= range.to && ids.has(range.watchId),
  );
};

/** Without what JSON escapes. */
const shortened = (text: string): string => {
  const plain = text.replaceAll(/["\\]/g, "'").replaceAll(/\p{C}/gu, ' ');
  return Buffer.from(plain).subarray(0, REASON_MAX).toString();
};

/** A last gap, beyond the most, has everything that is left of the range, and is given as a whole or not at all. */
const endOf = (range: Range, to: number, progress: ChainProgress): number => {
  const gaps = gapsOf(progress, range.watchId);
  if (range.gap) return gaps > GAPS_MAX ? range.to : to;
  return gaps >= GAPS_MAX ? lastBlockOf(progress.window, range) : to;
};

const current = (ranges: readonly Range[], progress: ChainProgress): Range[] =>
  ranges.flatMap((range) => findRange(progress, range) ?? []);

const gapsOf = ({ backfills }: ChainProgress, watchId: string): number =>
  backfills.filter((range) => range.gap && range.watchId === watchId).length;
