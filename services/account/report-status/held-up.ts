import { executorStream } from '../../../schemas/events/executor-events.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import { transactionsModel } from '../../../shared/read-models/transactions.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { executorFold } from '../domain/executor.ts';

/** An operation that waits for longer, while no bundle gets into a block, waits for something that an operator mends. */
const WAITS_LONG_MS = 30_000;
/** As many are looked at. */
const WAITING_MAX = 100;
const { transaction } = transactionsModel.collections;

interface Parts {
  readStore: Pick<ReadStore, 'find'>;
  transactor: Transactor;
}

/**
 * Whether the sends of a chain are held up: its node refused a bundle in the last 30 s, or an operation has waited for as long
 * that was not told why, and no bundle got into a block meanwhile.
 */
export const areHeldUp = async (
  { readStore, transactor }: Parts,
  chainId: number,
  executors: readonly string[],
): Promise<boolean> => {
  const since = transactor.clock.now() - WAITS_LONG_MS;
  const loaded = await Promise.all(
    executors.map((executor) => transactor.load(executorStream(chainId, executor), executorFold)),
  );
  if (loaded.some(({ state }) => state.refusedAt >= since)) return true;
  if (loaded.some(({ state }) => state.minedAt >= since)) return false;
  const waiting = await readStore.find(transaction.name, {
    filter: { chainId, isOpen: true, status: 'submitted', createdAt: { lte: toIso(since) } },
    limit: WAITING_MAX,
  });
  return waiting.some(({ document }) => transaction.document.parse(document).history.at(-1)?.reason === undefined);
};
