import { transactionsModel, type TransactionDocument } from '../../../shared/read-models/onchain/transactions.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

const FOUND_AT_ONCE = 1_000;
const { transaction } = transactionsModel.collections;

/** Yields the transactions of a chain that can still change, as far as the read model knows. */
export async function* openTransactions(
  readStore: Pick<ReadStore, 'find'>,
  chainId: number,
): AsyncGenerator<TransactionDocument, void, undefined> {
  for (let skip = 0; ; skip += FOUND_AT_ONCE) {
    const options = { filter: { chainId, isOpen: true }, skip, limit: FOUND_AT_ONCE };
    const found = await readStore.find(transaction.name, options);
    for (const { document } of found) yield transaction.document.parse(document);
    if (found.length < FOUND_AT_ONCE) return;
  }
}
