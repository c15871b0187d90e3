import type { OperationReceipt } from '../../../schemas/http/operation-receipt.ts';
import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import type { LatestState } from '../../../shared/chain/latest-state.ts';
import { unavailable } from '../../../shared/errors/refusal.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { KeptValues } from '../../../shared/primitives/kept-values.ts';
import type { TransactionDocument } from '../../../shared/read-models/transactions.ts';
import { operationReceiptOf } from '../domain/operation-receipt.ts';
import type { LatestStates } from './latest-states.ts';

/** What is in a block does not change: who asks again and again asks the chain once. */
const KEPT_MS = 60_000;
/** A receipt has all logs of its bundle. */
const KEPT_MAX = 100;

/** What the chains say of operations that they have. */
export class OperationReceipts {
  private readonly kept: KeptValues<OperationReceipt>;

  constructor(
    private readonly chains: LatestStates,
    clock: Pick<Clock, 'elapsed'>,
  ) {
    this.kept = new KeptValues(clock, { max: KEPT_MAX, keptMs: KEPT_MS });
  }

  /** Returns the receipt (ERC-7769); `null` until it is included. @throws Refusal dependency_unavailable */
  async of({ inclusion, ...transaction }: TransactionDocument): Promise<OperationReceipt | null> {
    if (!inclusion) return null;
    const { chainId, userOpHash } = transaction;
    const key = `${String(chainId)}/${inclusion.blockHash}/${userOpHash}`;
    const kept = this.kept.get(key);
    if (kept) return kept;
    const bundle = await this.ask(chainId, (chain) => chain.receipt(inclusion.transactionHash));
    const receipt = bundle && operationReceiptOf({ ...transaction, ...inclusion }, bundle);
    // The node is behind, or another block has the transaction since: the read model will tell.
    if (!receipt) throw unavailable(`chain ${String(chainId)} does not have the block of this operation`, undefined);
    this.kept.set(key, receipt);
    return receipt;
  }

  /** Counts the blocks from the one that has it; 0 until one has. @throws Refusal dependency_unavailable */
  async confirmations({ chainId, inclusion }: TransactionDocument): Promise<number> {
    if (!inclusion) return 0;
    const head = await this.ask(chainId, (chain) => chain.headBlock());
    return Math.max(1, head - inclusion.blockNumber + 1);
  }

  private async ask<Answer>(chainId: number, question: (chain: LatestState) => Promise<Answer>): Promise<Answer> {
    const chain = this.chains.get(chainId);
    if (!chain) throw unavailable(`chain ${String(chainId)} is not configured any more`, undefined);
    try {
      return await question(chain);
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      throw unavailable(`chain ${String(chainId)} does not answer`, error);
    }
  }
}
