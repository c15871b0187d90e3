import { BlocksRefused } from '../../../../shared/chain/chain-reader.ts';

/**
 * Refusals in a row before blocks become a gap, if every provider says that it has pruned them. More than one, because a gateway may have
 * asked a node that keeps fewer blocks than its others.
 */
const REFUSED_TIMES = 3;
/** The same for an unrecognised error, or while another provider does not answer; and the time since the first refusal. */
const ODDLY_TIMES = 12;
const ODDLY_MS = 600_000;

/** How often in a row the next block of a range was refused. */
export interface Refusals {
  readonly block: number;
  readonly times: number;
  readonly sinceMs: number;
}

/** Counts a failure of a range whose next block this is. Returns `undefined` where that was no refusal of the block. */
export const countRefusal = (
  before: Refusals | undefined,
  { error, block, nowMs }: { error: unknown; block: number; nowMs: number },
): Refusals | undefined => {
  if (!(error instanceof BlocksRefused)) return undefined;
  const known = before?.block === block ? before : { block, times: 0, sinceMs: nowMs };
  return { ...known, times: known.times + 1 };
};

/** Whether a block was refused for so long that those behind it do not wait for it any more. */
export const isRefusedLongEnough = (
  { times, sinceMs }: Refusals,
  { refusal }: Pick<BlocksRefused, 'refusal'>,
  nowMs: number,
): boolean =>
  refusal.isPrunedEverywhere ? times >= REFUSED_TIMES : times >= ODDLY_TIMES && nowMs - sinceMs >= ODDLY_MS;
