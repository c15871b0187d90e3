import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { AccountStatus } from '../../../schemas/http/account-routes.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import { Health } from '../../../shared/host/health.ts';
import { READ_STORE, SETTINGS } from '../../../shared/edge/tokens.ts';
import { VERSION } from '../../../shared/primitives/version.ts';
import { chainsModel } from '../../../shared/read-models/chains.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

export class ReportStatus extends Query<AccountStatus> {}

const { chain } = chainsModel.collections;

/** Answers even if a dependency is down, with what can still be read. */
@QueryHandler(ReportStatus)
export class ReportStatusHandler implements IQueryHandler<ReportStatus> {
  constructor(
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'CHAINS'>,
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly health: Health,
  ) {}

  async execute(): Promise<AccountStatus> {
    const dependencies = await this.health.dependencies();
    const allUp = Object.values(dependencies).every((state) => state === 'up');
    return {
      name: 'Annals',
      version: VERSION,
      status: allUp ? 'ok' : 'degraded',
      chains: await this.chains(dependencies.readStore === 'up'),
      loginMethods: ['wallet'],
      dependencies,
    };
  }

  /** The chains that are configured or were followed; `headBlock` is `null` where it cannot be read. */
  private async chains(canRead: boolean): Promise<AccountStatus['chains']> {
    const heads = new Map<number, number | null>(this.settings.CHAINS?.map(({ chainId }) => [chainId, null]));
    const found = canRead ? await this.readStore.find(chain.name, {}) : [];
    for (const { document } of found) {
      const { chainId, head } = chain.document.parse(document);
      heads.set(chainId, head);
    }
    return [...heads]
      .sort(([left], [right]) => left - right)
      .map(([chainId, headBlock]) => ({ chainId, entryPoint: null, bundler: null, headBlock, paymasterDeposit: null }));
  }
}
