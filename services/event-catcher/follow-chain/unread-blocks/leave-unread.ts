import type { ObservedRecord } from '../../../../schemas/events/chain-events.ts';
import type { BlocksRefused } from '../../../../shared/chain/chain-reader.ts';
import { toIso, type Clock } from '../../../../shared/primitives/clock.ts';
import { findRange, lastBlockOf, type Range } from '../../domain/coverage.ts';
import { leaveGap } from '../../domain/left-ranges.ts';
import type { ChainProgress } from '../../domain/chain-progress.ts';
import type { FollowedChain } from '../followed-chain.ts';
import type { ChainWriter, SyncSteps } from '../store-changes/chain-writer.ts';
import { belongsTo, filterFor } from '../watched-event.ts';
import { findRefusedEnd } from '../../edge/find-refused-end.ts';

/**
 * The most gaps of one watch. A provider that refuses scattered blocks would otherwise add gaps without end; beyond this, the range is
 * tried again instead.
 */
const GAPS_MAX = 50;
/** What a provider says may be long. */
const REASON_MAX = 500;

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
  const to = first.gap
    ? first.to
    : await findRefusedEnd(chain.reader, filterFor(watches), { from, to: lastBlockOf(progress.window, first) });
  const gap = {
    reason: `no provider gives these blocks: ${refusal.reason}`.slice(0, REASON_MAX),
    since: toIso(clock.now()),
  };
  const isTheirs = (record: ObservedRecord) =>
    from <= record.BlockNumber && record.BlockNumber <= to && watches.some((watch) => belongsTo(watch, record));
  const leave = function* (now: ChainProgress): SyncSteps {
    const left = current(ranges, now).filter((range) => range.next === from);
    if (left.length === 0) return;
    const given = left.filter(({ gap: known, watchId }) => known === undefined && gapsOf(now, watchId) < GAPS_MAX);
    yield {
      isOrphan: isTheirs,
      transition: (before) =>
        given.reduce(
          (after, range) => leaveGap(range, { to, gap }, chain.watches.of(now, range.watchId))(after),
          before,
        ),
    };
  };
  await writer.commit((now) => leave(now));
  const ids = new Set(ranges.map(({ watchId }) => watchId));
  return writer.progress.backfills.filter((range) => range.gap && range.to === to && ids.has(range.watchId));
};

const current = (ranges: readonly Range[], progress: ChainProgress): Range[] =>
  ranges.flatMap((range) => findRange(progress, range) ?? []);

const gapsOf = ({ backfills }: ChainProgress, watchId: string): number =>
  backfills.filter((range) => range.gap && range.watchId === watchId).length;
