import type { ExportedItem } from '../../schemas/http/user-routes.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { PersonalData } from '../key-vault/personal-data.ts';
import { historyModel } from '../read-models/history.ts';
import type { ReadStore } from '../read-store/read-store.ts';
import type { AuditKey } from './audit-key.jose.ts';

const PAGE = 500;
const { item, head } = historyModel.collections;

interface ExportOptions {
  readStore: Pick<ReadStore, 'find' | 'getMany'>;
  personalData: Pick<PersonalData, 'openAll'>;
  auditKey: Pick<AuditKey, 'sign'>;
}

/** Returns an item as it is answered: its personal data in the clear, or nothing of it after an erasure. */
export const openItems = async (
  found: readonly { document: JsonObject }[],
  personalData: Pick<PersonalData, 'openAll'>,
): Promise<(ExportedItem & { sequence: number })[]> => {
  const documents = found.map(({ document }) => item.document.parse(document));
  const opened = await personalData.openAll(documents.map(({ data, salt }) => ({ data, salt })));
  return documents.map(({ userId: _userId, hash, ...document }, at) => {
    const { data, salt } = (opened as { data: JsonObject; salt: string | null }[])[at] ?? { data: {}, salt: null };
    return { ...document, data: salt === null ? null : data, salt, hash };
  });
};

/**
 * Yields the history of a user as NDJSON, oldest first: a line for each item that there was when it began, and a last one
 * that signs the hash of the newest. An item that was stored without a salt has an empty one.
 */
export async function* exportHistory(
  userId: string,
  { readStore, personalData, auditKey }: ExportOptions,
): AsyncGenerator<string> {
  const newest = (await readStore.getMany(head.name, [userId])).get(userId);
  const { count, hash } = newest ? head.document.parse(newest.document) : { count: 0, hash: '0'.repeat(64) };
  for (let from = 0; from < count; from += PAGE) {
    const found = await readStore.find(item.name, {
      filter: { userId, sequence: { gte: from, lt: Math.min(count, from + PAGE) } },
      sort: [['sequence', 'asc']],
      limit: PAGE,
    });
    const lines = (await openItems(found, personalData)).map(({ sequence: _sequence, ...line }) =>
      JSON.stringify(line),
    );
    yield `${lines.join('\n')}\n`;
  }
  yield `${JSON.stringify({ previous: hash, signature: await auditKey.sign(hash) })}\n`;
}
