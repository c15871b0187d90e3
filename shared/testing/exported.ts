import { text } from 'node:stream/consumers';
import { AuditKey } from '../audit/audit-key.ts';
import { exportHistory } from '../audit/export-history.ts';
import { exportedLog } from '../audit/exported-log.ts';
import { HistoryThread } from '../audit/history-thread.ts';
import { personalDataOf } from '../key-vault/personal-data.ts';
import { QueryBudget } from '../read-store/query-budget.ts';
import { buildLog } from './project.ts';
import type { TestFoundation } from './test-foundation.ts';

type Stores = Pick<TestFoundation, 'eventStore' | 'readStore' | 'keyVault' | 'masterKey' | 'clock' | 'ids'>;

export const TEST_URL = 'https://account.example';

/** Returns the export of a user's history, as the operator makes it once the log is built. */
export const exported = async (foundation: Stores, userId: string): Promise<string> => {
  await buildLog(foundation);
  const personalData = personalDataOf(foundation);
  const auditKey = await AuditKey.open(personalData.keys);
  const thread = new HistoryThread();
  const budget = new QueryBudget({ caller: userId });
  const log = exportedLog({ ...foundation, keys: personalData.keys, ownUrl: () => TEST_URL, witnesses: [] });
  try {
    return await text(await exportHistory(userId, { ...foundation, personalData, auditKey, log, thread, budget }));
  } finally {
    await thread.close();
  }
};

/** Returns a text in pieces of some bytes, as a file is read. */
export async function* inPieces(whole: string, bytes = 1_000): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(whole);
  for (let from = 0; from < all.length; from += bytes) yield Promise.resolve(all.subarray(from, from + bytes));
}
