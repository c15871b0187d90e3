import type { Position } from '../../../shared/event-store/event-store.ts';
import type { CoveredWatch, Range } from './backfill/coverage.ts';

/** A watch whose blocks from `next` on are not verified yet. */
export interface Unverified {
  readonly watchId: string;
  readonly next: number;
}

/** Blocks `next`…`to` of a watch that somebody wants compared again, verified or not. */
export interface Replay extends Unverified {
  readonly to: number;
}

/**
 * How far the stored records of a chain have been compared with the chain once more. Each watch is verified from its
 * start block to `verified`, or to the block before `next` if it is behind. An immutable value.
 */
export interface Verification {
  readonly verified: number;
  readonly behind: readonly Unverified[];
  /** At most one per watch. */
  readonly replays: readonly Replay[];
  /** Blocks that could not be read when later ones were compared. They are compared once they have been read. */
  readonly skipped: readonly Replay[];
  /** Position up to which registrations have been added. */
  readonly watchesUpTo: Position;
}

export const initialVerification: Verification = { verified: 0, behind: [], replays: [], skipped: [], watchesUpTo: 0 };

/** Lets watches be verified from these start blocks on: they are new, or begin earlier than before. */
export const verifyFrom = (
  verification: Verification,
  watches: readonly CoveredWatch[],
  watchesUpTo: Position,
): Verification => {
  const { verified } = verification;
  const next = new Map(verification.behind.map((one) => [one.watchId, one.next]));
  for (const { id, startBlock } of watches)
    if (startBlock <= verified || next.has(id)) next.set(id, Math.min(startBlock, next.get(id) ?? startBlock));
  const behind = Array.from(next, ([watchId, from]) => ({ watchId, next: from }));
  return { ...verification, behind, watchesUpTo };
};

/**
 * Adds replays. One replay per watch: it is merged with what is left of an earlier one, and with the blocks between.
 */
export const addReplays = (verification: Verification, replays: readonly Replay[]): Verification => {
  const byWatch = new Map(verification.replays.map((replay) => [replay.watchId, replay]));
  for (const { watchId, next, to } of replays) {
    const known = byWatch.get(watchId) ?? { next, to };
    byWatch.set(watchId, { watchId, next: Math.min(known.next, next), to: Math.max(known.to, to) });
  }
  return { ...verification, replays: [...byWatch.values()] };
};

/**
 * Moves blocks `next`…`to` of a watch to `skipped`, merged with adjacent ones, to be compared once they have been read. The watch's
 * `behind` and `replays` continue at `to + 1`.
 */
export const skip = (verification: Verification, { watchId, to }: Pick<Replay, 'watchId' | 'to'>, next: number) => {
  const beyond = <One extends Unverified>(one: One): One =>
    one.watchId === watchId && next <= one.next && one.next <= to ? { ...one, next: to + 1 } : one;
  const isSame = (one: Replay) => one.watchId === watchId && (one.to === to || one.to === next - 1);
  const first = verification.skipped.filter(isSame).reduce((least, one) => Math.min(least, one.next), next);
  return {
    ...verification,
    behind: verification.behind.map(beyond),
    replays: verification.replays.map(beyond).filter((one) => one.next <= one.to),
    skipped: [...verification.skipped.filter((one) => !isSame(one)), { watchId, next: first, to }],
  };
};

/** All blocks after `last` were replaced: they are to be verified again. */
export const verifyAgainAfter = (verification: Verification, last: number): Verification => {
  if (last < 0) return initialVerification;
  const upTo = (replays: readonly Replay[]) =>
    replays.flatMap((one) => (one.next > last ? [] : [{ ...one, to: Math.min(one.to, last) }]));
  return {
    ...verification,
    verified: Math.min(verification.verified, last),
    behind: verification.behind.filter(({ next }) => next <= last),
    replays: upTo(verification.replays),
    skipped: upTo(verification.skipped),
  };
};

/**
 * Puts watches behind that were not, each from its start block, or from the first unverified block if that is later.
 */
export const leaveBehind = (verification: Verification, watches: readonly CoveredWatch[]): Verification => {
  const from = verification.verified + 1;
  const left = watches.map(({ id, startBlock }) => ({ watchId: id, next: Math.max(from, startBlock) }));
  return { ...verification, behind: [...verification.behind, ...left] };
};

/** A range of blocks that is compared for several watches at once. */
export interface ToVerify<Watch extends CoveredWatch = CoveredWatch> {
  readonly from: number;
  readonly to: number;
  readonly watches: readonly Watch[];
  /**
   * Watches that stay behind, because some of these blocks were not read for them. `undefined` if all of `watches` are
   * behind.
   */
  readonly left: readonly CoveredWatch[] | undefined;
  readonly isReplay: boolean;
}

/** Notes that these blocks have been compared. */
export const verify = (verification: Verification, { from, to, watches, left, isReplay }: ToVerify): Verification => {
  if (left) {
    const reached = left.filter(({ startBlock }) => startBlock <= to);
    return { ...leaveBehind(verification, reached), verified: to };
  }
  const ids = new Set(watches.map(({ id }) => id));
  if (isReplay) {
    const after = (replays: readonly Replay[]) =>
      replays.flatMap((one) => (ids.has(one.watchId) ? without(one, { from, to }) : [one]));
    return { ...verification, replays: after(verification.replays), skipped: after(verification.skipped) };
  }
  const isDone = to >= verification.verified;
  const behind = verification.behind.flatMap((one) =>
    ids.has(one.watchId) ? (isDone ? [] : [{ ...one, next: to + 1 }]) : [one],
  );
  return { ...verification, behind };
};

/** Takes blocks out of a range. If they are in the middle, two ranges are left. */
const without = (blocks: Replay, { from, to }: { from: number; to: number }): Replay[] => [
  ...(blocks.next < from ? [{ ...blocks, to: Math.min(blocks.to, from - 1) }] : []),
  ...(to < blocks.to ? [{ ...blocks, next: Math.max(blocks.next, to + 1) }] : []),
];

/**
 * Lets a replay continue after `last`, because the blocks up to it are refused for good. They stay as they were
 * verified before.
 */
export const cutReplay = (verification: Verification, watchId: string, last: number): Verification => ({
  ...verification,
  replays: verification.replays.flatMap((one) =>
    one.watchId === watchId ? without(one, { from: 0, to: last }) : [one],
  ),
});

/** Splits skipped blocks after `last`, up to which they are still refused, so that the rest is compared on its own. */
export const splitSkipped = (verification: Verification, skipped: Replay, last: number): Verification => ({
  ...verification,
  skipped: verification.skipped.flatMap((one) =>
    one === skipped && last < one.to
      ? [
          { ...one, to: last },
          { ...one, next: last + 1 },
        ]
      : [one],
  ),
});

/** The first block, from `from` on, that is in no range of a watch. */
export const firstRead = (ranges: readonly Range[], from: number): number =>
  ranges
    .toSorted((left, right) => left.next - right.next)
    .reduce((first, { next, to, joins }) => (next <= first && first <= to ? (joins ? Infinity : to + 1) : first), from);

/**
 * The last final block up to which a watch with these ranges was read without a gap, from `from` on; `from - 1` or less
 * if that is none.
 */
export const readUpTo = (ranges: readonly Range[], { from, final }: { from: number; final: number }): number =>
  ranges.reduce((last, { next, to, joins }) => (joins || to >= from ? Math.min(last, next - 1) : last), final);

interface Bounds {
  final: number;
  /** The most blocks per comparison. */
  blocks: number;
  /** The last block up to which a watch can be verified now, from `from` on; `from - 1` if it cannot. */
  reach: (watch: CoveredWatch, from: number) => number;
}

/** The next blocks of the watches that are not behind. If `watches` is empty, there is nothing to compare. */
export const nextOfAll = <Watch extends CoveredWatch>(
  { verified }: Verification,
  watches: readonly Watch[],
  { final, blocks, reach }: Bounds,
): ToVerify<Watch> | undefined => {
  const first = watches.reduce((least, { startBlock }) => Math.min(least, startBlock), Infinity);
  if (verified >= final) return undefined;
  if (first > final) return { from: verified + 1, to: final, watches: [], left: [], isReplay: false };
  const from = Math.max(verified + 1, first);
  const to = Math.min(final, from + blocks - 1);
  const started = watches.filter(({ startBlock }) => startBlock <= to);
  const { read = [], left = [] } = Object.groupBy(started, (watch) => (reach(watch, from) >= to ? 'read' : 'left'));
  return { from, to, watches: read, left, isReplay: false };
};

/** The next blocks of a watch that is behind, with all other watches whose next block is one of these. */
export const nextOfBehind = <Watch extends CoveredWatch & Unverified>(
  { verified }: Verification,
  lead: Watch,
  others: readonly Watch[],
  { blocks, reach }: Pick<Bounds, 'blocks' | 'reach'>,
): ToVerify<Watch> => {
  const from = lead.next;
  const to = Math.min(verified, from + blocks - 1, reach(lead, from));
  // A watch that has not read all of these blocks is left out: its logs would be taken for missing records.
  const joining = others.filter((one) => from <= one.next && one.next <= to && reach(one, from) >= to);
  return { from, to, watches: [lead, ...joining], left: undefined, isReplay: false };
};

/** The next blocks of a replay. */
export const nextOfReplay = <Watch extends CoveredWatch & Replay>(
  replay: Watch,
  { blocks, reach }: Pick<Bounds, 'blocks' | 'reach'>,
): ToVerify<Watch> => {
  const from = replay.next;
  const to = Math.min(replay.to, from + blocks - 1, reach(replay, from));
  return { from, to, watches: [replay], left: undefined, isReplay: true };
};
