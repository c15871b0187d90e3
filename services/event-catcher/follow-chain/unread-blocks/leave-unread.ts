import type { ObservedRecord } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { BlocksRefused } from '../../../../shared/chain/chain-reader.ts';
import { toIso, type Clock } from '../../../../shared/primitives/clock.ts';
import { findRange, lastBlockOf, type Range } from '../../domain/backfill/coverage.ts';
import { leaveGap } from '../../domain/backfill/left-ranges.ts';
import type { ChainProgress } from '../../domain/chain-progress.ts';
import type { FollowedChain } from '../followed-chain.ts';
import type { ChainWriter, SyncSteps } from '../stored-changes/chain-writer.ts';
import { belongsTo, filterFor } from '../watches/watched-event.ts';
import { findRefusedEndAfter } from '../../edge/find-refused-end.ts';

/**
 * Maximum number of gaps, which are ranges of refused blocks, per watch. One more gap then takes all blocks that are
 * left. Without a maximum, a provider that refuses scattered blocks would add gaps without end.
 */
const GAPS_MAX = 50;
/** Maximum length of a refusal's reason, in bytes of JSON. A provider's message may be long, and each gap stores it. */
export const REASON_MAX = 160;

interface Dependencies {
  chain: Pick<FollowedChain, 'reader' | 'watches'>;
  writer: ChainWriter;
  clock: Pick<Clock, 'now'>;
}

/**
 * Marks the next blocks of ranges, which providers refuse, as gaps, so that the ranges continue after the gaps. Reverts
 * records in these gaps that an earlier follower stored after its last checkpoint.
 * @returns the gaps; empty if the next block is not refused any more
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
  const watches = ranges.map(({ watchId }) => chain.watches.get(progress, watchId));
  const from = first.next;
  const blocks = { from, to: lastBlockOf(progress.window, first) };
  // Asks for block `from` once more: the range may have been split after the refusal, and `from` may be another block.
  const to = await findRefusedEndAfter(chain.reader, filterFor(watches), blocks);
  if (to === undefined) return [];
  const gap = {
    reason: shortened(`no provider gives these blocks: ${refusal.reason}`),
    since: toIso(clock.now()),
  };
  const leave = function* (now: ChainProgress): SyncSteps {
    const left = current(ranges, now).flatMap((range) =>
      range.next === from ? [{ range, end: endOf(range, to, now), watch: chain.watches.get(now, range.watchId) }] : [],
    );
    if (left.length === 0) return;
    const isTheirs = (record: ObservedRecord) =>
      left.some(
        ({ end, watch }) => from <= record.BlockNumber && record.BlockNumber <= end && belongsTo(watch, record),
      );
    // A range that already is a gap, and is refused up to its end, does not change; only the records in it are
    // reverted.
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

/** Replaces characters that JSON would escape, and cuts the text after `REASON_MAX` bytes. */
const shortened = (text: string): string => {
  const plain = text.replaceAll(/["\\]/g, "'").replaceAll(/\p{C}/gu, ' ');
  return Buffer.from(plain).subarray(0, REASON_MAX).toString();
};

/**
 * Returns the last block of a gap that begins at the range's next block. If the watch has `GAPS_MAX` other gaps, that is
 * the range's last block, so that no further gap is added or split off.
 */
const endOf = (range: Range, to: number, progress: ChainProgress): number => {
  const gaps = gapsOf(progress, range.watchId);
  if (range.gap) return gaps > GAPS_MAX ? range.to : to;
  return gaps >= GAPS_MAX ? lastBlockOf(progress.window, range) : to;
};

const current = (ranges: readonly Range[], progress: ChainProgress): Range[] =>
  ranges.flatMap((range) => findRange(progress, range) ?? []);

const gapsOf = ({ backfills }: ChainProgress, watchId: string): number =>
  backfills.filter((range) => range.gap && range.watchId === watchId).length;
