import type { RpcParams, RpcResult } from '../../../../schemas/rpc/rpc-methods.ts';
import { holderKey } from '../../../../shared/auth/holder-key.ts';
import type { CountedSimulations } from '../../served-chains/counted-simulations.ts';
import type { EstimationRequest, GasLimits } from '../../gas/gas-estimator.ts';
import { quantityOf } from '../../operations/domain/user-operation.ts';
import { readOperation, readStateOverride } from './operation-numbers.ts';
import { rpcErrorOf } from './rpc-error.ts';
import type { RpcContext } from './rpc-context.ts';

type AskedBy = Pick<RpcContext, 'chain' | 'caller' | 'ended'>;

/** Estimates the gas of operations that clients made. */
export class OperationEstimates {
  constructor(private readonly simulations: CountedSimulations) {}

  async estimate(
    { userOperation, stateOverride }: RpcParams<'eth_estimateUserOperationGas'>,
    context: AskedBy,
  ): Promise<RpcResult<'eth_estimateUserOperationGas'>> {
    const operation = readOperation(userOperation);
    const overridden = stateOverride && { stateOverride: readStateOverride(stateOverride), isOverridden: true };
    const [limits, preVerificationGas] = await Promise.all([
      this.limitsOf({ operation, ...overridden }, context),
      context.chain.preVerificationGas(operation),
    ]);
    return {
      callGasLimit: quantityOf(limits.callGasLimit),
      verificationGasLimit: quantityOf(limits.verificationGasLimit),
      preVerificationGas: quantityOf(preVerificationGas),
      ...(operation.paymaster && { paymasterVerificationGasLimit: quantityOf(limits.paymasterVerificationGasLimit) }),
    };
  }

  /** @throws RpcError */
  async limitsOf(request: EstimationRequest, { chain, caller, ended }: AskedBy): Promise<GasLimits> {
    const { operation } = request;
    try {
      const estimator = this.simulations.estimatorOf(chain, { caller: holderKey(caller), ended });
      return await estimator.estimate(request);
    } catch (error) {
      throw rpcErrorOf(error, operation.paymaster?.address) ?? error;
    }
  }
}
