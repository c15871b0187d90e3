import type { OperationReceipt } from '../../../schemas/http/onchain/operation-receipt.ts';
import type { LatestState, LatestStates } from '../../../shared/chain/state/latest-state.ts';
import { unavailable } from '../../../shared/errors/refusal.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { TtlCache } from '../../../shared/primitives/ttl-cache.ts';
import type { TransactionDocument } from '../../../shared/read-models/onchain/transactions.ts';
import { operationReceiptOf } from './domain/operation-receipt.ts';
import { askChain } from '../chain/ask-chain.ts';

/** A block does not change: repeated requests for a receipt ask the chain once. */
const KEPT_MS = 60_000;
/** A receipt contains all logs of its bundle. */
const KEPT_MAX = 100;

/** Reads the receipts of included operations from the chains. */
export class OperationReceipts {
  private readonly kept: TtlCache<OperationReceipt>;

  constructor(
    private readonly chains: LatestStates,
    clock: Pick<Clock, 'elapsed'>,
  ) {
    this.kept = new TtlCache(clock, { max: KEPT_MAX, ttlMs: KEPT_MS });
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
    // The node is behind, or another block contains the transaction now: the read model will tell.
    if (!receipt) throw unavailable(`chain ${String(chainId)} does not have the block of this operation`, undefined);
    this.kept.set(key, receipt);
    return receipt;
  }

  /** Counts the blocks from the including block on; 0 before inclusion. @throws Refusal dependency_unavailable */
  async confirmations({ chainId, inclusion }: TransactionDocument): Promise<number> {
    if (!inclusion) return 0;
    const head = await this.ask(chainId, (chain) => chain.headBlock());
    return Math.max(1, head - inclusion.blockNumber + 1);
  }

  private async ask<Answer>(chainId: number, question: (chain: LatestState) => Promise<Answer>): Promise<Answer> {
    const chain = this.chains.get(chainId);
    if (!chain) throw unavailable(`chain ${String(chainId)} is not configured any more`, undefined);
    return askChain(chainId, () => question(chain));
  }
}
