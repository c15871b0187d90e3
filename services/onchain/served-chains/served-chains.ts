import { onchainStream } from '../../../schemas/events/onchain/onchain-events.ts';
import type { ChainSettings } from '../../../shared/config/chain-settings.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { TtlCache } from '../../../shared/primitives/ttl-cache.ts';
import type { ForkRules } from '../operations/domain/fork-rules.ts';
import { fullBundleOf, preVerificationGas } from '../operations/domain/pre-verification-gas.ts';
import { preparedChainFold, type PreparedChain } from '../prepare-chain/domain/prepared-chain.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';
import { GasEstimator, type Simulations } from '../gas/gas-estimator.ts';
import { RequestBatcher } from '../chain/request-batcher.ts';
import {
  highestTip,
  type AccountState,
  type OperationsBlock,
  type OperationsChain,
} from '../chain/operations-chain.ts';

/** How long the head and the node's suggested tip are reused. */
const HEAD_KEPT_MS = 250;
/** In one request. Each contains the code of EntryPointSimulations; together they are a megabyte. */
const SIMULATIONS_MAX = 24;
/** Each takes three calls, and nodes take a hundred calls in one request. */
const ACCOUNTS_MAX = 33;
/** Each takes two calls. */
const IMPLEMENTATIONS_MAX = 50;
const GWEI = 10n ** 9n;
/** The largest tip that is believed of a node: a node must not decide how much is spent. */
export const SUGGESTED_TIP_MAX = 3n * GWEI;
const DATA_FEE_MARGIN_PERCENT = 125n;
/** Wei per gas, if the settings have no cap. */
const FEE_CAP = 500n * GWEI;

export interface ChainNow {
  head: OperationsBlock;
  /** The node's suggestion. */
  tip: bigint;
  /** The larger of the suggestion and the tip of recent blocks. No sender has a reason to offer more. */
  tipMax: bigint;
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
    const { feeCap } = this.settings;
    return feeCap === undefined ? FEE_CAP : BigInt(feeCap);
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
    const { head, tip, rules } = await this.now();
    if (rules.layerBelow === undefined) return 0n;
    const { gas, wei } = await this.operations.dataFee(fullBundleOf(operation));
    const offered = head.baseFeePerGas + (operation.maxPriorityFeePerGas || tip);
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
    return { head, tip: tips.suggested, tipMax: highestTip(tips), rules };
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
