import { Readable } from 'node:stream';
import { Controller, Inject, StreamableFile } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { SealedHistories } from '../../../../shared/audit/seals/sealed-histories.ts';
import { AuditKey } from '../../../../shared/audit/audit-key.ts';
import { exportHistory } from '../../../../shared/audit/export-history.ts';
import { HistoryThread } from '../../../../shared/audit/history-thread.ts';
import { Projections } from '../../../../shared/edge/answers/projections.ts';
import { CLOCK, EVENT_STORE, READ_STORE } from '../../../../shared/edge/tokens.ts';
import { invalid, Refusal } from '../../../../shared/errors/refusal.ts';
import type { EventStore, Position } from '../../../../shared/event-store/event-store.ts';
import { PersonalData } from '../../../../shared/key-vault/personal-data.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { historyModel } from '../../../../shared/read-models/account/history.ts';
import { LOG } from '../../../../shared/read-models/transparency-log.ts';
import { transactionsModel } from '../../../../shared/read-models/onchain/transactions.ts';
import { QueryBudget } from '../../../../shared/read-store/query-budget.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { Checkpoints } from '../../../../shared/transparency-log/checkpoints.ts';
import { StoredLog } from '../../../../shared/transparency-log/stored-log.ts';
import { Apps } from '../../../../shared/auth/apps.ts';
import { ReadHistory } from './read-history.handler.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';

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
    private readonly storedLog: StoredLog,
    private readonly checkpoints: Checkpoints,
    private readonly histories: SealedHistories,
    private readonly thread: HistoryThread,
    private readonly apps: Apps,
  ) {}

  @Implements(readHistory, { reads: [historyModel.name] })
  async read({ params, query, caller, context }: ParsedRequest<typeof readHistory>) {
    if (params.id !== caller.userId) throw new Refusal('forbidden', 'only the user can read this history');
    const { from, to } = query;
    if (from !== undefined && to !== undefined && Date.parse(to) < Date.parse(from))
      throw invalid({ path: 'to', message: 'is before from' });
    const onlyOf = await this.apps.onlyOf(caller.appId);
    const { app = onlyOf } = query;
    if (onlyOf !== undefined && app !== onlyOf)
      throw new Refusal('forbidden', 'a session of this app reads only what came through it');
    return this.queries.execute(new ReadHistory(params.id, { ...query, app }, context.ended()));
  }

  @Implements(exportRoute)
  async export({ params, caller, context }: ParsedRequest<typeof exportRoute>) {
    if (params.id !== caller.userId) throw new Refusal('forbidden', 'only the user can export this history');
    await this.apps.requireTrusted(caller.appId);
    const { readStore, eventStore, clock, personalData, auditKey, thread } = this;
    const budget = new QueryBudget({ caller: caller.userId, signal: context.ended() });
    // Beyond the position of the transactions read model, the export reads the `TxSubmitted` events of all users, so
    // wait for it first.
    await this.models.reached(transactionsModel.name, await this.logReached());
    const log = {
      ...{ stored: this.storedLog, histories: this.histories, checkpoint: () => this.checkpoints.note() },
      caughtUp: () => this.logReached(),
    };
    const lines = await exportHistory(params.id, {
      ...{ readStore, eventStore, clock, personalData, auditKey, log, thread, budget },
    });
    return new StreamableFile(Readable.from(lines, { objectMode: false }), { type: 'application/x-ndjson' });
  }

  /** Returns the newest position once the log has it. @throws Refusal not_caught_up */
  private async logReached(): Promise<Position> {
    const head = await this.eventStore.head();
    await this.models.reached(LOG, head);
    return head;
  }
}
