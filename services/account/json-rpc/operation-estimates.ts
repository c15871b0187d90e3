import type { RpcParams, RpcResult } from '../../../schemas/rpc/rpc-methods.ts';
import { preVerificationGas } from '../domain/pre-verification-gas.ts';
import type { EstimationRequest, GasLimits } from '../edge/gas-estimator.ts';
import type { ServedChain } from '../edge/served-chains.ts';
import { quantityOf, readOperation, readStateOverride } from './operation-numbers.ts';
import { rpcErrorOf } from './rpc-error.ts';
import type { RpcContext } from './rpc-context.ts';

/** Finds the gas of operations that clients made. */
export class OperationEstimates {
  async estimate(
    { userOperation, stateOverride }: RpcParams<'eth_estimateUserOperationGas'>,
    { chain }: Pick<RpcContext, 'chain'>,
  ): Promise<RpcResult<'eth_estimateUserOperationGas'>> {
    const operation = readOperation(userOperation);
    const overridden = stateOverride && { stateOverride: readStateOverride(stateOverride) };
    const limits = await this.limitsOf(chain, { operation, ...overridden });
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
      throw rpcErrorOf(error, operation.paymaster?.address) ?? error;
    }
  }
}
