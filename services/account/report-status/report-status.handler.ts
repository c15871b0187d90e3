import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { AccountStatus } from '../../../schemas/http/account-routes.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import { Health } from '../../../shared/host/health.ts';
import { reportedMessageBus } from '../../../shared/host/message-bus-report.ts';
import { READ_STORE, SETTINGS } from '../../../shared/edge/tokens.ts';
import { VERSION } from '../../../shared/primitives/version.ts';
import { chainsModel } from '../../../shared/read-models/chains.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { loginMethodsOf, type MethodSettings } from '../edge/login-methods.ts';

export class ReportStatus extends Query<AccountStatus> {}

const { chain } = chainsModel.collections;

/** Answers even if a dependency is down, with what can still be read. */
@QueryHandler(ReportStatus)
export class ReportStatusHandler implements IQueryHandler<ReportStatus> {
  constructor(
    @Inject(SETTINGS)
    private readonly settings: Pick<Settings, 'CHAINS'> & MethodSettings,
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly health: Health,
  ) {}

  async execute(): Promise<AccountStatus> {
    const own = await this.health.dependencies();
    const canRead = own.readStore === 'up';
    const messageBus = canRead ? await reportedMessageBus(this.readStore) : undefined;
    const dependencies = { ...own, ...(messageBus && { messageBus }) };
    const allUp = Object.values(dependencies).every((state) => state === 'up');
    return {
      name: 'Annals',
      version: VERSION,
      status: allUp ? 'ok' : 'degraded',
      chains: await this.chains(canRead),
      loginMethods: loginMethodsOf(this.settings),
      dependencies,
    };
  }

  /** The chains that are configured; `headBlock` is `null` where it cannot be read. */
  private async chains(canRead: boolean): Promise<AccountStatus['chains']> {
    const chainIds = (this.settings.CHAINS ?? []).map(({ chainId }) => chainId).sort((left, right) => left - right);
    const found = canRead ? await this.readStore.getMany(chain.name, chainIds.map(String)) : undefined;
    return chainIds.map((chainId) => {
      const stored = found?.get(String(chainId));
      const headBlock = stored ? chain.document.parse(stored.document).head : null;
      return { chainId, entryPoint: null, bundler: null, headBlock, paymasterDeposit: null };
    });
  }
}
