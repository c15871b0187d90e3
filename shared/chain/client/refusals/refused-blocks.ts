import { RangeTooLarge } from './chain-reader.ts';
import { NoAnswer, type JsonRpcEndpoint } from './json-rpc-endpoint.ts';

/** One endpoint refuses several blocks in words that nobody knows: there may be too many of them, or the endpoint may have failed. */
export class PerhapsTooLarge extends RangeTooLarge {}

/** One endpoint refuses the logs of blocks, though it answers other requests: it is not at fault. */
export class RefusesBlocks extends Error {
  override readonly name = 'RefusesBlocks';

  constructor(
    message: string,
    /** Whether it says that it does not have them any more. */
    readonly isPruned: boolean,
  ) {
    super(message);
  }
}

/** A gateway may ask a node that is behind its others, but rarely by more blocks than this. */
const BEHIND_MAX = 128;

/**
 * Whether an endpoint that says that it has no block of this number has probably pruned it: its newest one was much newer. Nobody can be
 * sure, since the node behind a gateway may be another one now.
 */
export const isProbablyPruned = ({ head }: JsonRpcEndpoint, number: number): boolean =>
  head !== undefined && number < head.number - BEHIND_MAX;

/** What an endpoint refused because it does not have blocks any more; `undefined` if it failed otherwise. */
export const refusedAsPruned = (
  endpoint: JsonRpcEndpoint,
  error: unknown,
  { number, message }: { number: number; message?: string },
): RefusesBlocks | undefined => {
  if (!(error instanceof NoAnswer)) return undefined;
  const { kind } = error.why;
  if (kind === 'state-pruned') return new RefusesBlocks(message ?? error.message, true);
  return kind === 'beyond-head' && isProbablyPruned(endpoint, number)
    ? new RefusesBlocks(message ?? error.message, false)
    : undefined;
};

/**
 * Whether an endpoint may have been asked for too much: it was too slow, or refused in words that nobody knows, but answers a
 * small request at once.
 */
export const isPerhapsTooMuch = async (endpoint: JsonRpcEndpoint, { why }: NoAnswer): Promise<boolean> =>
  (why.kind === 'too-slow' || why.kind === 'other') && (await endpoint.answersAtAll());
