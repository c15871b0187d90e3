import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { onchainStream } from '../../../schemas/events/onchain-events.ts';
import type { AccountStatus } from '../../../schemas/http/account-routes.ts';
import type { ChainSettings, Settings } from '../../../shared/config/settings.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { Health } from '../../../shared/host/health.ts';
import { reportedMessageBus } from '../../../shared/host/message-bus-report.ts';
import { READ_STORE, SETTINGS } from '../../../shared/edge/tokens.ts';
import { inTime } from '../../../shared/primitives/in-time.ts';
import { VERSION } from '../../../shared/primitives/version.ts';
import { chainsModel } from '../../../shared/read-models/chains.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { preparedChainFold } from '../domain/prepared-chain.ts';
import { LATEST_STATES, type LatestStates } from '../edge/latest-states.ts';
import { loginMethodsOf, type MethodSettings } from '../edge/login-methods.ts';

export class ReportStatus extends Query<AccountStatus> {}

const { chain } = chainsModel.collections;

/** The whole answer comes within 2 s. */
const ANSWERS_WITHIN_MS = 500;
/** `balanceOf(address)` */
const BALANCE_OF = '0x70a08231';
const WORD = /^0x[0-9a-f]{64}$/;

/** Answers even if a dependency is down, with what can still be read. */
@QueryHandler(ReportStatus)
export class ReportStatusHandler implements IQueryHandler<ReportStatus> {
  constructor(
    @Inject(SETTINGS)
    private readonly settings: Pick<Settings, 'CHAINS'> & MethodSettings,
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly health: Health,
    private readonly transactor: Transactor,
    @Inject(LATEST_STATES) private readonly latestStates: LatestStates,
  ) {}

  async execute(): Promise<AccountStatus> {
    const own = await this.health.dependencies();
    const canRead = own.readStore === 'up';
    const canLoad = own.eventStore === 'up';
    const messageBus = canRead ? await reportedMessageBus(this.readStore) : undefined;
    const dependencies = { ...own, ...(messageBus && { messageBus }) };
    const allUp = Object.values(dependencies).every((state) => state === 'up');
    return {
      name: 'Annals',
      version: VERSION,
      status: allUp ? 'ok' : 'degraded',
      chains: await this.chains(canRead, canLoad),
      loginMethods: loginMethodsOf(this.settings),
      dependencies,
    };
  }

  /** The chains that are configured; `headBlock` is `null` where it cannot be read. */
  private async chains(canRead: boolean, canLoad: boolean): Promise<AccountStatus['chains']> {
    const chains = [...(this.settings.CHAINS ?? [])].sort((left, right) => left.chainId - right.chainId);
    const ids = chains.map(({ chainId }) => String(chainId));
    const found = canRead ? await this.readStore.getMany(chain.name, ids) : undefined;
    return Promise.all(
      chains.map(async (one) => {
        const { chainId, entryPoint, accountFactory } = one;
        const stored = found?.get(String(chainId));
        const headBlock = stored ? chain.document.parse(stored.document).head : null;
        const paymaster = one.paymaster ?? (canLoad ? await this.recordedPaymaster(chainId) : undefined) ?? null;
        const paymasterDeposit = paymaster === null ? null : await this.depositOf(one, paymaster);
        return { chainId, entryPoint, accountFactory, paymaster, bundler: null, headBlock, paymasterDeposit };
      }),
    );
  }

  private async recordedPaymaster(chainId: number): Promise<string | undefined> {
    const load = () => this.transactor.load(onchainStream(chainId), preparedChainFold);
    return (await inTime(load, ANSWERS_WITHIN_MS))?.state?.paymaster;
  }

  private async depositOf({ chainId, entryPoint }: ChainSettings, paymaster: string): Promise<string | null> {
    const latest = this.latestStates.get(chainId);
    const data = `${BALANCE_OF}${paymaster.slice(2).toLowerCase().padStart(64, '0')}`;
    const word = latest && (await inTime(() => latest.call(entryPoint, data), ANSWERS_WITHIN_MS));
    return word !== undefined && WORD.test(word) ? String(BigInt(word)) : null;
  }
}
