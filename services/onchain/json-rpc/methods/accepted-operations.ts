import type { RpcParams, RpcResult } from '../../../../schemas/rpc/rpc-methods.ts';
import type { Projections } from '../../../../shared/edge/answers/projections.ts';
import { transactionsModel, type TransactionDocument } from '../../../../shared/read-models/onchain/transactions.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { operationOf } from '../../transactions/domain/transaction.ts';
import type { OperationReceipts } from '../../transactions/operation-receipts.ts';
import type { Submissions } from '../../sending/submissions.ts';
import { answeredOperationOf, quantityOf } from '../../operations/domain/user-operation.ts';
import type { RpcContext } from './rpc-context.ts';

const { transaction } = transactionsModel.collections;

/** The status of operations that this service accepted, over `/rpc` or not. */
export class AcceptedOperations {
  constructor(
    private readonly readStore: Pick<ReadStore, 'find'>,
    private readonly models: Projections,
    private readonly receipts: OperationReceipts,
    private readonly submissions: Submissions,
  ) {}

  async byHash(
    { hash }: RpcParams<'eth_getUserOperationByHash'>,
    context: RpcContext,
  ): Promise<RpcResult<'eth_getUserOperationByHash'>> {
    const found = await this.find(hash, context);
    const submitted = found && (await this.submissions.find(found.id));
    if (!submitted) return null;
    const { entryPoint, inclusion } = found;
    return {
      userOperation: answeredOperationOf(operationOf(submitted.transaction)),
      entryPoint,
      transactionHash: inclusion?.transactionHash ?? null,
      blockHash: inclusion?.blockHash ?? null,
      blockNumber: inclusion ? quantityOf(inclusion.blockNumber) : null,
    };
  }

  async receiptOf(
    { hash }: RpcParams<'eth_getUserOperationReceipt'>,
    context: RpcContext,
  ): Promise<RpcResult<'eth_getUserOperationReceipt'>> {
    const found = await this.find(hash, context);
    return found ? this.receipts.of(found) : null;
  }

  private find(userOpHash: string, { chain }: RpcContext): Promise<TransactionDocument | undefined> {
    const filter = { chainId: chain.settings.chainId, userOpHash };
    return this.models.find(transactionsModel.name, async () => {
      const [found] = await this.readStore.find(transaction.name, { filter, limit: 1 });
      return found && transaction.document.parse(found.document);
    });
  }
}
