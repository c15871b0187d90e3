import type { ModuleMetadata } from '@nestjs/common';
import { AuditKey } from '../../../shared/audit/audit-key.ts';
import { HistoryThread } from '../../../shared/audit/history-thread.ts';
import type { VaultKeys } from '../../../shared/key-vault/vault-keys.ts';
import { ReadHistoryHandler } from './read-history/read-history.handler.ts';
import { ReadHistoryHttp } from './read-history/read-history.http.ts';

/** The histories of users, and the key that signs their exports. `historyThread` must be closed. */
export const openHistory = async (keys: VaultKeys) => {
  const historyThread = new HistoryThread();
  return {
    historyThread,
    controllers: [ReadHistoryHttp],
    providers: [
      { provide: AuditKey, useValue: await AuditKey.open(keys) },
      { provide: HistoryThread, useValue: historyThread },
      ReadHistoryHandler,
    ],
  } satisfies ModuleMetadata & Record<string, unknown>;
};
