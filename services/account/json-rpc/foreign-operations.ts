import type { EventMetadata } from '../../../schemas/events/event.ts';
import { rpcCodes } from '../../../schemas/rpc/rpc-messages.ts';
import type { PreparedChain } from '../domain/prepared-chain.ts';
import type { Transaction } from '../domain/transaction.ts';
import { maxCostOf, type UserOperation } from '../domain/user-operation.ts';
import type { Entities } from '../edge/entities.ts';
import type { ServedChain } from '../edge/served-chains.ts';
import { RpcError } from './rpc-error.ts';
import { isOurAccount } from './validated-operations.ts';

const OF_SENDER_MAX = 4;
const OF_OTHERS_MAX = 10;

interface Admission {
  transactionId: string;
  operation: UserOperation;
  prepared: PreparedChain;
}

/** What is not known to behave may have few operations pending: senders, factories and paymasters that are not ours. */
export class ForeignOperations {
  constructor(private readonly entities: Entities) {}

  /** @throws Throttled, RpcError */
  async admit(
    chain: ServedChain,
    { transactionId, operation, prepared }: Admission,
    metadata: EventMetadata,
  ): Promise<void> {
    const { chainId, accountFactory } = chain.settings;
    const { sender, factory, paymaster } = operation;
    const foreignFactory = factory?.address === accountFactory ? undefined : factory?.address;
    const foreignPaymaster = paymaster?.address === prepared.paymaster ? undefined : paymaster?.address;
    const [isOurs] = await Promise.all([
      isOurAccount(chain, operation),
      this.entities.requireNotBanned({ chainId, address: sender }),
    ]);
    if (isOurs && foreignPaymaster === undefined) return;
    const admitted = (address: string, pendingMax: number): Promise<Transaction[]> =>
      this.entities.admit(
        { chainId, address },
        { transactionId, nonce: operation.nonce, sender, pendingMax },
        metadata,
      );
    await admitted(sender, OF_SENDER_MAX);
    if (foreignFactory !== undefined) await admitted(foreignFactory, OF_OTHERS_MAX);
    if (foreignPaymaster === undefined) return;
    const others = await admitted(foreignPaymaster, OF_OTHERS_MAX);
    await requireDeposit(chain, foreignPaymaster, [
      maxCostOf(operation),
      ...others.map(({ submission }) => BigInt(submission.maxCostWei)),
    ]);
  }
}

/** The deposit of a paymaster covers all that it has pending. @throws RpcError */
const requireDeposit = async (chain: ServedChain, paymaster: string, costs: readonly bigint[]): Promise<void> => {
  const [account] = await chain.accounts.ask([paymaster]);
  const sum = costs.reduce((all, wei) => all + wei, 0n);
  if (account && sum <= account.depositWei) return;
  throw new RpcError(rpcCodes.depositTooLow, 'AA31 paymaster deposit too low for all that is pending', { paymaster });
};
