import { BlocksRefused, RangeTooLarge, type ChainReader } from '../../../../shared/chain/chain-reader.ts';

/**
 * After this many refusals in a row, blocks are left unread if every provider says that it has pruned them. More than
 * one, because a gateway may have asked a node that keeps fewer blocks than the gateway's other nodes.
 */
const REFUSED_TIMES = 3;
/**
 * If the error is not recognised, or a provider does not answer, blocks are left unread only after this many refusals
 * in a row, over at least this time.
 */
const ODDLY_TIMES = 12;
const ODDLY_MS = 600_000;

/** How many times in a row the next block of a range was refused, and the time of the first refusal. */
export interface Refusals {
  readonly block: number;
  readonly times: number;
  readonly sinceMs: number;
}

/** Returns the count after a failure of a range that begins at `block`; `undefined` if the error is no refusal. */
export const countRefusal = (
  before: Refusals | undefined,
  { error, block, nowMs }: { error: unknown; block: number; nowMs: number },
): Refusals | undefined => {
  if (!(error instanceof BlocksRefused)) return undefined;
  const known = before?.block === block ? before : { block, times: 0, sinceMs: nowMs };
  return { ...known, times: known.times + 1 };
};

/** Whether a block was refused often enough, and for long enough, to be left unread, so that later blocks are read. */
export const isRefusedLongEnough = (
  { times, sinceMs }: Refusals,
  { refusal }: Pick<BlocksRefused, 'refusal'>,
  nowMs: number,
): boolean =>
  refusal.isPrunedEverywhere ? times >= REFUSED_TIMES : times >= ODDLY_TIMES && nowMs - sinceMs >= ODDLY_MS;

/** Whether any provider answers a request for the head. If so, a refused request is at fault, not the providers. */
export const isAnswering = (reader: Pick<ChainReader, 'head'>): Promise<boolean> =>
  reader.head().then(
    () => true,
    () => false,
  );

/** Returns the text of a provider's error, followed by advice on the setting that helps. */
export const withRemedy = (error: Error): string => {
  if (error instanceof BlocksRefused)
    return `${error.message}: add an endpoint that has these blocks to "rpcUrls" of this chain in CHAINS`;
  if (error instanceof RangeTooLarge)
    return `${error.message}: add an endpoint that takes such requests to "rpcUrls" of this chain in CHAINS`;
  return `${error.message}: check "rpcUrls" of this chain in CHAINS`;
};
