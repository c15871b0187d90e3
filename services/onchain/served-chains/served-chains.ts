import { onchainStream } from '../../../schemas/events/onchain/onchain-events.ts';
import { feeCapOf, tipMaxOf, type ChainSettings } from '../../../shared/config/chain-settings.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { TtlCache } from '../../../shared/primitives/ttl-cache.ts';
import type { ForkRules } from '../operations/domain/fork-rules.ts';
import type { TipBounds } from '../operations/domain/operation-bounds.ts';
import { fullBundleOf, preVerificationGas } from '../operations/domain/pre-verification-gas.ts';
import { preparedChainFold, type PreparedChain } from '../prepare-chain/domain/prepared-chain.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';
import { GasEstimator, type Simulations } from '../gas/gas-estimator.ts';
import { RequestBatcher } from '../chain/request-batcher.ts';
import type { AccountState, OperationsBlock, OperationsChain, Tips } from '../chain/operations-chain.ts';

/** How long the head and the tips are reused. */
const HEAD_KEPT_MS = 250;
/** In one request. Each contains the code of EntryPointSimulations; together they are a megabyte. */
const SIMULATIONS_MAX = 24;
/** Each takes three calls, and nodes take a hundred calls in one request. */
const ACCOUNTS_MAX = 33;
/** Each takes two calls. */
const IMPLEMENTATIONS_MAX = 50;
const DATA_FEE_MARGIN_PERCENT = 125n;
/** How long a sponsor pays a tip that the chain asked for: as long as a client may need from an estimate to its operation. */
const TIP_PAID_MS = 120_000;

export interface ChainNow {
  head: OperationsBlock;
  /** `most`: the highest tip that the chain asked for in the last two minutes. No sender has a reason to offer more. */
  tips: Tips & TipBounds & { most: bigint };
  rules: ForkRules;
}

/** A chain on which operations are sent. */
export class ServedChain {
  readonly estimator: GasEstimator;
  /** Joins the questions of many callers into few requests. */
  readonly simulations: Simulations;
  readonly accounts: RequestBatcher<string, AccountState>;
  readonly implementations: RequestBatcher<string, string | undefined>;
  private readonly newest: TtlCache<Promise<ChainNow>>;
  /** Tips of the last two minutes, from the oldest to the newest, each higher than the tips after it. */
  private highTips: { tip: bigint; until: number }[] = [];

  constructor(
    readonly settings: ChainSettings,
    readonly operations: OperationsChain,
    private readonly transactor: Transactor,
  ) {
    this.simulations = new RequestBatcher((all) => operations.simulate(all), SIMULATIONS_MAX);
    this.accounts = new RequestBatcher((all) => operations.accounts(all), ACCOUNTS_MAX);
    this.implementations = new RequestBatcher((all) => operations.implementations(all), IMPLEMENTATIONS_MAX);
    this.estimator = new GasEstimator(operations, this.simulations);
    this.newest = new TtlCache(transactor.clock, { max: 1, ttlMs: HEAD_KEPT_MS });
  }

  get feeCap(): bigint {
    return feeCapOf(this.settings);
  }

  /** At most `HEAD_KEPT_MS` old. @throws ChainUnavailable */
  now(): Promise<ChainNow> {
    const kept = this.newest.get('');
    return kept ?? this.askAnew();
  }

  /** @throws ChainUnavailable */
  askAnew(): Promise<ChainNow> {
    const asked = this.ask();
    this.newest.set('', asked, this.transactor.clock.elapsed());
    asked.catch(() => {
      this.newest.delete('');
    });
    return asked;
  }

  /**
   * Returns the gas that pays a rollup's fee for the data of an operation, at the gas price that the operation pays now; 0 on any
   * other chain. @throws ChainUnavailable
   */
  async dataFeeGas(operation: UserOperation): Promise<bigint> {
    const { head, tips, rules } = await this.now();
    if (rules.layerBelow === undefined) return 0n;
    const { gas, wei } = await this.operations.dataFee(fullBundleOf(operation));
    const offered = head.baseFeePerGas + (operation.maxPriorityFeePerGas || tips.asked);
    const most = operation.maxFeePerGas || offered;
    const price = (offered < most ? offered : most) || 1n;
    return gas + (wei + price - 1n) / price;
  }

  /**
   * Returns `preVerificationGas` with a margin on the fee for data, because the fee may rise until the operation is sent.
   * @param known the answer of `dataFeeGas` for the operation, if the caller has it. @throws ChainUnavailable
   */
  async preVerificationGas(operation: UserOperation, known?: bigint): Promise<bigint> {
    const [{ rules }, dataFeeGas] = await Promise.all([this.now(), known ?? this.dataFeeGas(operation)]);
    return preVerificationGas(operation, rules) + (dataFeeGas * DATA_FEE_MARGIN_PERCENT) / 100n;
  }

  /** Returns the contracts that operations use. @throws Refusal dependency_unavailable until the chain is prepared */
  async preparation(): Promise<PreparedChain> {
    const { chainId, paymaster } = this.settings;
    const { state } = await this.transactor.load(onchainStream(chainId), preparedChainFold);
    if (state) return paymaster === undefined ? state : { ...state, paymaster };
    throw new Refusal(
      'dependency_unavailable',
      `chain ${String(chainId)} is not prepared yet: its operator runs "annals chain prepare"`,
      { retryAfter: 5 },
    );
  }

  private async ask(): Promise<ChainNow> {
    const { operations } = this;
    const [head, tips, rules] = await Promise.all([operations.head(), operations.tips(), operations.forkRules()]);
    return { head, tips: { ...tips, most: this.highest(tips.asked), max: tipMaxOf(this.settings) }, rules };
  }

  /** Returns the highest tip that the chain asked for in the last two minutes, including this one. */
  private highest(tip: bigint): bigint {
    const now = this.transactor.clock.elapsed();
    const higher = this.highTips.filter((one) => one.until > now && one.tip > tip);
    this.highTips = [...higher, { tip, until: now + TIP_PAID_MS }];
    return higher[0]?.tip ?? tip;
  }
}

/** The chains on which operations are sent, by chain id. */
export class ServedChains {
  constructor(readonly all: ReadonlyMap<number, ServedChain>) {}

  /** @throws Refusal chain_not_supported */
  get(chainId: number): ServedChain {
    const chain = this.all.get(chainId);
    if (!chain) throw new Refusal('chain_not_supported', `chain ${String(chainId)} is not served here`);
    return chain;
  }
}
