import { rpcCodes } from '../../../../schemas/rpc/rpc-messages.ts';
import { holderKey } from '../../../../shared/auth/holder-key.ts';
import type { PreparedChain } from '../../prepare-chain/domain/prepared-chain.ts';
import type { Transaction } from '../../transactions/domain/transaction.ts';
import { maxCostOf, type UserOperation } from '../../operations/domain/user-operation.ts';
import type { Entities } from '../../reputation/entities.ts';
import type { ServedChain } from '../../served-chains/served-chains.ts';
import type { RpcContext } from './rpc-context.ts';
import { RpcError, validationRefused } from './rpc-error.ts';

const OF_SENDER_MAX = 4;
const OF_OTHERS_MAX = 10;
const OF_CALLER_MAX = 64;

interface Admission {
  transactionId: string;
  operation: UserOperation;
  prepared: PreparedChain;
}

/**
 * The owner of an account's key may change its state while its operations wait, whatever its code is. So each sender, factory
 * and paymaster has few pending operations and can pay for all of them. Callers, who may have many accounts, are limited, too.
 */
export class ForeignOperations {
  constructor(private readonly entities: Entities) {}

  /**
   * @returns a function that withdraws the admission if the operation is refused for another reason
   * @throws Throttled, RpcError
   */
  async admit(
    { transactionId, operation, prepared }: Admission,
    { chain, caller, metadata }: Pick<RpcContext, 'chain' | 'caller' | 'metadata'>,
  ): Promise<() => Promise<void>> {
    const { chainId, accountFactory } = chain.settings;
    const { sender, nonce, factory, paymaster } = operation;
    const foreignFactory = factory?.address === accountFactory ? undefined : factory?.address;
    const foreignPaymaster = paymaster?.address === prepared.paymaster ? undefined : paymaster?.address;
    const counted: string[] = [];
    const withdraw = async () => {
      for (const address of counted) await this.entities.withdraw({ chainId, address }, transactionId, metadata);
    };
    const admitted = (address: string, pendingMax: number): Promise<Transaction[]> => {
      counted.push(address);
      return this.entities.admit({ chainId, address }, { transactionId, nonce, sender, pendingMax }, metadata);
    };
    try {
      // First, because another caller may send the same operation: all later steps are the same for both.
      await admitted(holderKey(caller), OF_CALLER_MAX);
      const ofSender = await admitted(sender, OF_SENDER_MAX);
      if (paymaster === undefined) await requireFunds(chain, operation, ofSender);
      if (foreignFactory !== undefined) await admitted(foreignFactory, OF_OTHERS_MAX);
      if (foreignPaymaster !== undefined) {
        const others = await admitted(foreignPaymaster, OF_OTHERS_MAX);
        const costs = others.map(({ submission }) => BigInt(submission.maxCostWei));
        await requireDeposit(chain, foreignPaymaster, [maxCostOf(operation), ...costs]);
      }
      return withdraw;
    } catch (error) {
      await withdraw();
      throw error;
    }
  }
}

/** Requires that an account covers all pending operations that it pays for itself. @throws RpcError */
const requireFunds = async (
  chain: ServedChain,
  operation: UserOperation,
  pending: readonly Transaction[],
): Promise<void> => {
  const own = pending.filter(({ submission }) => submission.operation.paymaster === null);
  const costs = own.map(({ submission }) => BigInt(submission.maxCostWei));
  const [account] = await chain.accounts.ask([operation.sender]);
  const sum = costs.reduce((all, wei) => all + wei, maxCostOf(operation));
  if (account && sum <= account.wei + account.depositWei) return;
  throw validationRefused("AA21 the account's balance does not cover all that it has pending", '0x', undefined);
};

/** Requires that the deposit of a paymaster covers all its pending operations. @throws RpcError */
const requireDeposit = async (chain: ServedChain, paymaster: string, costs: readonly bigint[]): Promise<void> => {
  const [account] = await chain.accounts.ask([paymaster]);
  const sum = costs.reduce((all, wei) => all + wei, 0n);
  if (account && sum <= account.depositWei) return;
  throw new RpcError(rpcCodes.depositTooLow, 'AA31 paymaster deposit too low for all that is pending', { paymaster });
};
