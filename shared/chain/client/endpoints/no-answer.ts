import type { Refusal } from '../refusals/rpc-refusals.ts';

/** An endpoint refused, failed or sent an invalid answer. The message is one line, without secrets of the URL. */
export class NoAnswer extends Error {
  override readonly name: string = 'NoAnswer';

  constructor(
    /** `failed`: no readable answer, as from a gateway whose node is down; not a refusal. */
    readonly why: Refusal | { kind: 'too-slow' } | { kind: 'failed' },
    message: string,
  ) {
    super(message);
  }
}

/** An endpoint lacks a method, or a parameter of a method. The message is what the endpoint answered. */
export class NoMethod extends NoAnswer {
  override readonly name = 'NoMethod';

  constructor(
    /** As in "eth_feeHistory" and "eth_call with state overrides". */
    readonly method: string,
    message: string,
  ) {
    super({ kind: 'other' }, message);
  }
}

/** JSON-RPC 2.0, section 5.1. */
export const METHOD_NOT_FOUND = -32_601;
const NO_METHOD =
  /\bmethod\b.{0,80}\b(not (exist|available|support|found|implement|allow|enabled)|unsupported|disabled)|(unknown|unsupported|no such|disabled) (rpc )?method/i;

/** A contract chooses the text of a revert, and a method may be back soon. */
const NOT_OF_METHOD = /revert|temporar/i;

/** Whether an error says that the endpoint does not offer the method. */
export const saysNoMethod = ({ code, message }: { code: number | undefined; message: string }): boolean =>
  code === METHOD_NOT_FOUND || (NO_METHOD.test(message) && !NOT_OF_METHOD.test(message));
