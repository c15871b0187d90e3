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

/** Whether an endpoint says that it does not have blocks any more, in words or by a code that are known. */
export const saysPruned = (error: unknown): error is NoAnswer =>
  error instanceof NoAnswer && error.why.kind === 'state-pruned';

/**
 * Whether an endpoint may have been asked for too much: it was too slow, or refused in words that nobody knows, but answers a
 * small request at once.
 */
export const isPerhapsTooMuch = async (endpoint: JsonRpcEndpoint, { why }: NoAnswer): Promise<boolean> =>
  (why.kind === 'too-slow' || why.kind === 'other') && (await endpoint.answersAtAll());
