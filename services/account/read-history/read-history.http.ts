import { Readable } from 'node:stream';
import { Controller, Inject, StreamableFile } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes, type HistoryPage } from '../../../schemas/http/account-routes.ts';
import { AuditKey } from '../../../shared/audit/audit-key.jose.ts';
import { exportHistory } from '../../../shared/audit/export-history.ts';
import { READ_STORE } from '../../../shared/edge/tokens.ts';
import { PersonalData } from '../../../shared/key-vault/personal-data.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { historyModel } from '../../../shared/read-models/history.ts';
import { ReadHistory } from './read-history.handler.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/implements.ts';

const { readHistory, exportHistory: exportRoute } = accountRoutes;

@Controller()
export class ReadHistoryHttp {
  constructor(
    private readonly queries: QueryBus,
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly personalData: PersonalData,
    private readonly auditKey: AuditKey,
  ) {}

  @Implements(readHistory, { reads: [historyModel.name] })
  read({ params, query, caller }: ParsedRequest<typeof readHistory>): Promise<HistoryPage> {
    if (params.id !== caller.userId) throw new Refusal('forbidden', 'only the user can read this history');
    return this.queries.execute(new ReadHistory(params.id, query));
  }

  @Implements(exportRoute, { reads: [historyModel.name] })
  export({ params, caller }: ParsedRequest<typeof exportRoute>): Promise<StreamableFile> {
    if (params.id !== caller.userId) throw new Refusal('forbidden', 'only the user can export this history');
    const lines = Readable.from(
      exportHistory(params.id, { readStore: this.readStore, personalData: this.personalData, auditKey: this.auditKey }),
    );
    return Promise.resolve(new StreamableFile(lines, { type: 'application/x-ndjson' }));
  }
}
