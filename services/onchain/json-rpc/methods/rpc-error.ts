import type { JsonObject } from '../../../../schemas/json.ts';
import { rpcCodes, type RpcCode } from '../../../../schemas/rpc/rpc-messages.ts';
import { OutcomeUnknown, WrongExpectedRevision } from '../../../../shared/event-store/event-store.ts';
import { ChainUnavailable } from '../../../../shared/chain/chain-reader.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';

/** The answer to a call that fails. Its message is shown to the caller. */
export class RpcError extends Error {
  override readonly name = 'RpcError';

  constructor(
    readonly code: RpcCode,
    message: string,
    readonly data?: JsonObject,
  ) {
    super(message);
  }
}

export const invalidParams = (message: string): RpcError => new RpcError(rpcCodes.invalidParams, message);

/** The paymaster of the call's operation; `undefined` if there is none. */
type Paymaster = string | undefined;

/** @param reason of the EntryPoint: `AA…`, or empty */
export const validationRefused = (reason: string, revertData: string, paymaster: Paymaster): RpcError => {
  const message = reason === '' ? 'validation reverts without a reason of the EntryPoint' : reason;
  const ofPaymaster = { paymaster: paymaster ?? null };
  switch (reason.slice(0, 'AAxx'.length)) {
    case 'AA24':
      return new RpcError(rpcCodes.signatureWrong, message);
    case 'AA31':
      return new RpcError(rpcCodes.depositTooLow, message, ofPaymaster);
    default:
      return reason.startsWith('AA3')
        ? new RpcError(rpcCodes.paymasterRefused, message, ofPaymaster)
        : new RpcError(rpcCodes.validationRefused, message, { reason, revertData });
  }
};

/** Returns the error answer for a failure; `undefined` for a failure that is only logged. */
export const rpcErrorOf = (error: unknown, paymaster?: Paymaster): RpcError | undefined => {
  if (error instanceof RpcError) return error;
  if (error instanceof Refusal) return refused(error, paymaster);
  const isOutage =
    error instanceof ChainUnavailable || error instanceof OutcomeUnknown || error instanceof WrongExpectedRevision;
  return isOutage ? new RpcError(rpcCodes.internalError, 'what this needs does not answer: ask again') : undefined;
};

const refused = ({ code, detail, members }: Refusal, paymaster: Paymaster): RpcError | undefined => {
  const { reason = '', revertData = '0x', rule } = members;
  switch (code) {
    case 'execution_reverted':
      return new RpcError(rpcCodes.callReverts, detail, { reason, revertData });
    case 'user_op_rejected':
      return validationRefused(reason, revertData, paymaster);
    case 'sponsorship_refused':
      return rule === 'deposit'
        ? new RpcError(rpcCodes.depositTooLow, detail, { paymaster: paymaster ?? null })
        : new RpcError(rpcCodes.paymasterRefused, detail, { paymaster: paymaster ?? null, rule: rule ?? null });
    case 'chain_not_supported':
    case 'validation_failed':
      return invalidParams(detail);
    case 'dependency_unavailable':
    case 'not_caught_up':
    case 'rate_limited':
      return new RpcError(rpcCodes.internalError, detail);
    default:
      return undefined;
  }
};
