import { RangeTooLarge } from '../../chain-reader.ts';
import type { JsonRpcEndpoint } from '../endpoints/json-rpc-endpoint.ts';
import { NoAnswer } from '../endpoints/no-answer.ts';

/**
 * One endpoint refuses several blocks with an unrecognised text, or names other blocks in their logs: there may be too
 * many of them, or the endpoint may be failing. Another endpoint is preferred.
 */
export class PerhapsTooLarge extends RangeTooLarge {}

/** One endpoint refuses the logs of blocks while it answers other requests, so it is not failing. */
export class RefusesBlocks extends Error {
  override readonly name = 'RefusesBlocks';

  constructor(
    message: string,
    /** Whether it reports the blocks as pruned. */
    readonly isPruned: boolean,
  ) {
    super(message);
  }
}

/** A gateway may ask a node that lags behind its others, but rarely by more blocks than this. */
const BEHIND_MAX = 128;

/**
 * Whether an endpoint that reports a block number as unknown has probably pruned the block: its head was much newer.
 * This is not certain, because the node behind a gateway may be another one now.
 */
export const isProbablyPruned = ({ head }: JsonRpcEndpoint, number: number): boolean =>
  head !== undefined && number < head.number - BEHIND_MAX;

/** Returns the refusal if the endpoint no longer has the blocks; `undefined` for any other failure. */
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
 * Whether an endpoint may have been asked for too much: it was too slow, or refused with an unrecognised text, but
 * answers a small request at once.
 */
export const isPerhapsTooMuch = async (endpoint: JsonRpcEndpoint, { why }: NoAnswer): Promise<boolean> =>
  (why.kind === 'too-slow' || why.kind === 'other') && (await endpoint.answersAtAll());
