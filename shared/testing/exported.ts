import { text } from 'node:stream/consumers';
import { AuditKey } from '../audit/audit-key.jose.ts';
import { exportHistory } from '../audit/export-history.ts';
import { HistoryThread } from '../audit/history-thread.ts';
import { personalDataOf } from '../key-vault/personal-data.ts';
import { QueryBudget } from '../read-store/query-budget.ts';
import type { TestFoundation } from './test-foundation.ts';

type Stores = Pick<TestFoundation, 'eventStore' | 'readStore' | 'keyVault' | 'masterKey' | 'clock'>;

/** Returns the export of a user's history, as the operator makes it. */
export const exported = async (foundation: Stores, userId: string): Promise<string> => {
  const personalData = personalDataOf(foundation);
  const auditKey = await AuditKey.open(personalData.keys);
  const thread = new HistoryThread();
  const budget = new QueryBudget({ caller: userId });
  try {
    return await text(await exportHistory(userId, { ...foundation, personalData, auditKey, thread, budget }));
  } finally {
    await thread.close();
  }
};

/** Returns a text in pieces of some bytes, as a file is read. */
export async function* inPieces(whole: string, bytes = 1_000): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(whole);
  for (let from = 0; from < all.length; from += bytes) yield Promise.resolve(all.subarray(from, from + bytes));
}
