import type { RpcParams, RpcResult } from '../../../schemas/rpc/rpc-methods.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { preVerificationGas } from '../domain/pre-verification-gas.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import type { EstimationRequest, GasLimits } from '../edge/gas-estimator.ts';
import type { ServedChain } from '../edge/served-chains.ts';
import { quantityOf, readOperation } from './operation-numbers.ts';
import { rpcErrorOf, validationRefused } from './rpc-error.ts';
import type { RpcContext } from './rpc-context.ts';

/** Finds the gas of operations that clients made. */
export class OperationEstimates {
  async estimate(
    { userOperation, stateOverride }: RpcParams<'eth_estimateUserOperationGas'>,
    { chain }: Pick<RpcContext, 'chain'>,
  ): Promise<RpcResult<'eth_estimateUserOperationGas'>> {
    const operation = readOperation(userOperation);
    const limits = await this.limitsOf(chain, { operation, ...(stateOverride && { stateOverride }) });
    return {
      callGasLimit: quantityOf(limits.callGasLimit),
      verificationGasLimit: quantityOf(limits.verificationGasLimit),
      preVerificationGas: quantityOf(preVerificationGas(operation)),
      ...(operation.paymaster && { paymasterVerificationGasLimit: quantityOf(limits.paymasterVerificationGasLimit) }),
    };
  }

  /** @throws RpcError */
  async limitsOf(chain: ServedChain, request: EstimationRequest): Promise<GasLimits> {
    const { operation } = request;
    try {
      return await chain.estimator.estimate(request);
    } catch (error) {
      if (error instanceof Refusal && error.code === 'user_op_rejected') {
        const { reason = '', revertData = '0x' } = error.members;
        throw await refusedBy(chain, operation, { reason, revertData });
      }
      throw rpcErrorOf(error, operation.paymaster?.address) ?? error;
    }
  }
}

/** The EntryPoint says nothing of an account without code. */
export const refusedBy = async (
  chain: ServedChain,
  { sender, factory, paymaster }: UserOperation,
  { reason, revertData }: { reason: string; revertData: string },
) => {
  const [account] = reason === '' && !factory ? await chain.accounts.ask([sender]) : [];
  const isMissing = account?.hasCode === false;
  return validationRefused(isMissing ? 'AA20 account not deployed' : reason, revertData, paymaster?.address);
};
