import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { AccountStatus } from '../../../schemas/http/account/account-routes.ts';
import { Health } from '../../../shared/host/health/health.ts';
import { reportedMessageBus } from '../../../shared/host/health/message-bus-report.ts';
import { READ_STORE } from '../../../shared/edge/tokens.ts';
import { VERSION } from '../../../shared/primitives/version.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { OFFERED_METHODS, type OfferedMethods } from '../login/offered-methods.ts';
import { ChainStatuses } from './chain-statuses.ts';

export class ReportStatus extends Query<AccountStatus> {}

/** Answers even if a dependency is down, with what can still be read. */
@QueryHandler(ReportStatus)
export class ReportStatusHandler implements IQueryHandler<ReportStatus> {
  constructor(
    @Inject(OFFERED_METHODS) private readonly loginMethods: OfferedMethods,
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly health: Health,
    private readonly chains: ChainStatuses,
  ) {}

  async execute(): Promise<AccountStatus> {
    const own = await this.health.dependencies();
    const up = { readStore: own.readStore === 'up', eventStore: own.eventStore === 'up' };
    const messageBus = up.readStore ? await reportedMessageBus(this.readStore) : undefined;
    const dependencies = { ...own, ...(messageBus && { messageBus }) };
    const allUp = Object.values(dependencies).every((state) => state === 'up');
    const chains = await this.chains.report(up);
    return {
      name: 'Annals',
      version: VERSION,
      status: allUp && chains.every(({ isWell }) => isWell) ? 'ok' : 'degraded',
      chains: chains.map(({ status }) => status),
      loginMethods: [...this.loginMethods],
      dependencies,
    };
  }
}
