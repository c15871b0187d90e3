import { Readable } from 'node:stream';
import { Controller, Inject, StreamableFile } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../schemas/http/account-routes.ts';
import type { HistoryPage } from '../../../schemas/http/history.ts';
import { AuditKey } from '../../../shared/audit/audit-key.jose.ts';
import { exportHistory } from '../../../shared/audit/export-history.ts';
import { HistoryThread } from '../../../shared/audit/history-thread.ts';
import { Projections } from '../../../shared/edge/projections.ts';
import { CLOCK, EVENT_STORE, READ_STORE } from '../../../shared/edge/tokens.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { PersonalData } from '../../../shared/key-vault/personal-data.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { historyModel } from '../../../shared/read-models/history.ts';
import { transactionsModel } from '../../../shared/read-models/transactions.ts';
import { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { Apps } from '../edge/apps.ts';
import { ReadHistory } from './read-history.handler.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/implements.ts';

const { readHistory, exportHistory: exportRoute } = accountRoutes;

@Controller()
export class ReadHistoryHttp {
  constructor(
    private readonly queries: QueryBus,
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    @Inject(EVENT_STORE) private readonly eventStore: EventStore,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly models: Projections,
    private readonly personalData: PersonalData,
    private readonly auditKey: AuditKey,
    private readonly thread: HistoryThread,
    private readonly apps: Apps,
  ) {}

  @Implements(readHistory, { reads: [historyModel.name] })
  async read({ params, query, caller, context }: ParsedRequest<typeof readHistory>): Promise<HistoryPage> {
    if (params.id !== caller.userId) throw new Refusal('forbidden', 'only the user can read this history');
    const app = await this.apps.onlyOf(caller.appId);
    return this.queries.execute(new ReadHistory(params.id, { ...query, app }, context.ended()));
  }

  @Implements(exportRoute)
  async export({ params, caller, context }: ParsedRequest<typeof exportRoute>): Promise<StreamableFile> {
    if (params.id !== caller.userId) throw new Refusal('forbidden', 'only the user can export this history');
    await this.apps.requireTrusted(caller.appId);
    const { readStore, eventStore, clock, personalData, auditKey, thread } = this;
    const budget = new QueryBudget({ caller: caller.userId, signal: context.ended() });
    // While the read model of transactions is behind, the export reads the later `TxSubmitted` events of all users.
    await this.models.reached(transactionsModel.name, await eventStore.head());
    const lines = await exportHistory(params.id, {
      ...{ readStore, eventStore, clock, personalData, auditKey, thread, budget },
    });
    return new StreamableFile(Readable.from(lines, { objectMode: false }), { type: 'application/x-ndjson' });
  }
}
