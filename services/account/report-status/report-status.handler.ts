import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { onchainStream } from '../../../schemas/events/onchain-events.ts';
import type { AccountStatus } from '../../../schemas/http/account-routes.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { Health } from '../../../shared/host/health.ts';
import { reportedMessageBus } from '../../../shared/host/message-bus-report.ts';
import { READ_STORE, SETTINGS } from '../../../shared/edge/tokens.ts';
import { inTime } from '../../../shared/primitives/in-time.ts';
import { KeptValues } from '../../../shared/primitives/kept-values.ts';
import { VERSION } from '../../../shared/primitives/version.ts';
import { chainsModel } from '../../../shared/read-models/chains.ts';
import { transactionsModel } from '../../../shared/read-models/transactions.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { preparedChainFold } from '../domain/prepared-chain.ts';
import { ChainConditions, payersOf, type Payers } from '../edge/chain-conditions.ts';
import { loginMethodsOf, type MethodSettings } from '../edge/login-methods.ts';
import { reservedWeiOn } from '../edge/reserved-wei.ts';
import { ServedChains, type ServedChain } from '../edge/served-chains.ts';
import { areHeldUp } from './held-up.ts';

export class ReportStatus extends Query<AccountStatus> {}

const { chain } = chainsModel.collections;
const { transaction } = transactionsModel.collections;

/** The whole answer comes within 2 s. */
const ANSWERS_WITHIN_MS = 500;

type ChainStatus = AccountStatus['chains'][number];
/** What is up enough to be asked. */
interface Askable {
  readStore: boolean;
  eventStore: boolean;
}

/** However many ask, a chain's operations are looked at no more often. */
const KEPT_MS = 1_000;
const CHAINS_MAX = 1_000;

/** Answers even if a dependency is down, with what can still be read. */
@QueryHandler(ReportStatus)
export class ReportStatusHandler implements IQueryHandler<ReportStatus> {
  private readonly kept: KeptValues<Promise<boolean>>;

  constructor(
    @Inject(SETTINGS) private readonly settings: MethodSettings,
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly health: Health,
    private readonly transactor: Transactor,
    private readonly served: ServedChains,
    private readonly conditions: ChainConditions,
  ) {
    this.kept = new KeptValues(transactor.clock, { max: CHAINS_MAX, keptMs: KEPT_MS });
  }

  async execute(): Promise<AccountStatus> {
    const own = await this.health.dependencies();
    const canAsk = { readStore: own.readStore === 'up', eventStore: own.eventStore === 'up' };
    const messageBus = canAsk.readStore ? await reportedMessageBus(this.readStore) : undefined;
    const dependencies = { ...own, ...(messageBus && { messageBus }) };
    const allUp = Object.values(dependencies).every((state) => state === 'up');
    const sorted = [...this.served.all.values()].sort((left, right) => left.settings.chainId - right.settings.chainId);
    const chains = await Promise.all(sorted.map((one) => this.chain(one, canAsk)));
    return {
      name: 'Annals',
      version: VERSION,
      status: allUp && chains.every(({ isWell }) => isWell) ? 'ok' : 'degraded',
      chains: chains.map(({ status }) => status),
      loginMethods: loginMethodsOf(this.settings),
      dependencies,
    };
  }

  private async chain(one: ServedChain, canAsk: Askable): Promise<{ status: ChainStatus; isWell: boolean }> {
    const { chainId, entryPoint, accountFactory, bundlerUrls: [bundlerUrl] = [] } = one.settings;
    const load = () => this.transactor.load(onchainStream(chainId), preparedChainFold);
    const prepared = canAsk.eventStore ? (await inTime(load, ANSWERS_WITHIN_MS))?.state : undefined;
    const payers = payersOf(one.settings, prepared);
    const [condition, read, heldUp] = await Promise.all([
      this.conditions.of(one, payers, ANSWERS_WITHIN_MS),
      canAsk.readStore ? inTime(() => this.read(chainId), ANSWERS_WITHIN_MS) : undefined,
      canAsk.readStore && canAsk.eventStore ? inTime(() => this.heldUp(chainId, payers), ANSWERS_WITHIN_MS) : undefined,
    ]);
    const { depositWei } = condition ?? {};
    const isCovered = depositWei === undefined || depositWei >= (read?.reserved ?? 0n);
    return {
      status: {
        ...{ chainId, entryPoint, accountFactory, paymaster: payers.paymaster },
        bundler: bundlerUrl === undefined ? 'built-in' : new URL(bundlerUrl).host,
        headBlock: read?.headBlock ?? null,
        paymasterDeposit: depositWei === undefined ? null : String(depositWei),
        operationsPending: read?.operationsPending ?? null,
      },
      isWell: condition?.hasGas === true && isCovered && heldUp !== true,
    };
  }

  private heldUp(chainId: number, { executors }: Pick<Payers, 'executors'>): Promise<boolean> {
    const key = String(chainId);
    const kept = this.kept.get(key);
    if (kept) return kept;
    const { readStore, transactor } = this;
    const asked = areHeldUp({ readStore, transactor }, chainId, executors);
    this.kept.set(key, asked);
    return asked;
  }

  /** What read models say of a chain. */
  private async read(chainId: number) {
    const id = String(chainId);
    const [found, operationsPending, reserved] = await Promise.all([
      this.readStore.getMany(chain.name, [id]),
      this.readStore.count(transaction.name, { chainId, isOpen: true, status: 'submitted' }),
      reservedWeiOn(this.readStore, chainId),
    ]);
    const stored = found.get(id);
    return { headBlock: stored && chain.document.parse(stored.document).head, operationsPending, reserved };
  }
}
