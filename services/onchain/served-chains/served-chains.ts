import { onchainStream } from '../../../schemas/events/onchain-events.ts';
import type { ChainSettings } from '../../../shared/config/settings.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import { KeptValues } from '../../../shared/primitives/kept-values.ts';
import type { ForkRules } from '../domain/fork-rules.ts';
import { fullBundleOf, preVerificationGas } from '../domain/pre-verification-gas.ts';
import { preparedChainFold, type PreparedChain } from '../domain/prepared-chain.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import { GasEstimator, type Simulations } from './gas-estimator.ts';
import { GatheredRequests } from './gathered-requests.ts';
import { highestTip, type AccountState, type OperationsBlock, type OperationsChain } from './operations-chain.ts';

/** How long an answer on the head, and the tip that a node suggests, is used. */
const HEAD_KEPT_MS = 250;
/** Of one request, to which each brings the code of EntryPointSimulations: they are a megabyte. */
const SIMULATIONS_MAX = 24;
/** Three calls each, of which nodes take a hundred in one request. */
const ACCOUNTS_MAX = 33;
/** Two calls each. */
const IMPLEMENTATIONS_MAX = 50;
const GWEI = 10n ** 9n;
/** Of a suggested tip: nobody's money is spent on a node's whim. */
export const SUGGESTED_TIP_MAX = 3n * GWEI;
const DATA_FEE_MARGIN_PERCENT = 125n;
/** Wei a gas, where the settings name none. */
const FEE_CAP = 500n * GWEI;

export interface ChainNow {
  head: OperationsBlock;
  /** As the node suggests it. */
  tip: bigint;
  /** What recent blocks were paid, if that is more: whoever offers more gains, or loses, what nobody asked for. */
  tipMax: bigint;
  rules: ForkRules;
}

/** A chain on which operations are sent. */
export class ServedChain {
  readonly estimator: GasEstimator;
  /** Of many who ask at once, in few requests. */
  readonly simulations: Simulations;
  readonly accounts: GatheredRequests<string, AccountState>;
  readonly implementations: GatheredRequests<string, string | undefined>;
  private readonly newest: KeptValues<Promise<ChainNow>>;

  constructor(
    readonly settings: ChainSettings,
    readonly operations: OperationsChain,
    private readonly transactor: Transactor,
  ) {
    this.simulations = new GatheredRequests((all) => operations.simulate(all), SIMULATIONS_MAX);
    this.accounts = new GatheredRequests((all) => operations.accounts(all), ACCOUNTS_MAX);
    this.implementations = new GatheredRequests((all) => operations.implementations(all), IMPLEMENTATIONS_MAX);
    this.estimator = new GasEstimator(operations, this.simulations);
    this.newest = new KeptValues(transactor.clock, { max: 1, keptMs: HEAD_KEPT_MS });
  }

  get feeCap(): bigint {
    const { feeCap } = this.settings;
    return feeCap === undefined ? FEE_CAP : BigInt(feeCap);
  }

  /** As it was at most some hundred milliseconds ago. @throws ChainUnavailable */
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
   * Returns the gas with which an operation pays what a rollup takes for its data, at the price that it pays a gas now; 0 on any
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
   * `preVerificationGas`, and more than the fee for data is now: until the operation is sent it may rise.
   * @param known what `dataFeeGas` has answered for the operation. @throws ChainUnavailable
   */
  async preVerificationGas(operation: UserOperation, known?: bigint): Promise<bigint> {
    const [{ rules }, dataFeeGas] = await Promise.all([this.now(), known ?? this.dataFeeGas(operation)]);
    return preVerificationGas(operation, rules) + (dataFeeGas * DATA_FEE_MARGIN_PERCENT) / 100n;
  }

  /** Returns what operations are sent with. @throws Refusal dependency_unavailable until the chain is prepared */
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

  close(): void {
    for (const { operations } of this.all.values()) operations.close();
  }
}
