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

/** A gateway may ask a node that is behind its others, but not by more blocks than this. */
const BEHIND_MAX = 128;

/** Whether an endpoint that says that it has no block of this number must have had it. */
export const isForgotten = ({ head }: JsonRpcEndpoint, number: number): boolean =>
  head !== undefined && number < head.number - BEHIND_MAX;

/**
 * Whether an endpoint says that it does not have blocks any more: in words or by a code that are known, or because there is no such block
 * for it, though its newest one is much newer.
 */
export const saysPruned = (endpoint: JsonRpcEndpoint, error: unknown, number: number): error is NoAnswer =>
  error instanceof NoAnswer &&
  (error.why.kind === 'state-pruned' || (error.why.kind === 'beyond-head' && isForgotten(endpoint, number)));

/**
 * Whether an endpoint may have been asked for too much: it was too slow, or refused in words that nobody knows, but answers a
 * small request at once.
 */
export const isPerhapsTooMuch = async (endpoint: JsonRpcEndpoint, { why }: NoAnswer): Promise<boolean> =>
  (why.kind === 'too-slow' || why.kind === 'other') && (await endpoint.answersAtAll());
