import type { Clock } from '../../../shared/primitives/clock.ts';
import { inTime } from '../../../shared/primitives/waiting/in-time.ts';
import { TtlCache } from '../../../shared/primitives/ttl-cache.ts';
import type { ChainSettings } from '../../../shared/config/chain-settings.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { PreparedChain } from '../prepare-chain/domain/prepared-chain.ts';
import type { ServedChain } from './served-chains.ts';

/** Each chain is asked at most this often, however many callers there are. */
const KEPT_MS = 5_000;
/** A send waits no longer than this for the answer. */
const TOLD_WITHIN_MS = 500;
const CHAINS_MAX = 1_000;
/** Less gas than any bundle takes. */
const BUNDLE_GAS = 100_000n;

/** The balances of the accounts that pay for operations on a chain. */
export interface ChainCondition {
  /** `undefined` if there is no paymaster. */
  depositWei: bigint | undefined;
  /** Whether an executor can pay for a bundle; also true if there are no executors. */
  hasGas: boolean;
}

export interface Payers {
  paymaster: string | null;
  executors: readonly string[];
}

/** The accounts that pay for operations on a chain. An external bundler has executors of its own. */
export const payersOf = (
  { paymaster, bundlerUrls = [] }: Pick<ChainSettings, 'paymaster' | 'bundlerUrls'>,
  prepared: PreparedChain | undefined,
): Payers => ({
  paymaster: paymaster ?? prepared?.paymaster ?? null,
  executors: bundlerUrls.length === 0 ? (prepared?.executors ?? []) : [],
});

/** The conditions of the chains, at most 5 s old. */
export class ChainConditions {
  private readonly kept: TtlCache<Promise<ChainCondition>>;

  constructor(private readonly clock: Pick<Clock, 'elapsed'>) {
    this.kept = new TtlCache(clock, { max: CHAINS_MAX, ttlMs: KEPT_MS });
  }

  /** Returns `undefined` if the chain does not answer in time. */
  of(chain: ServedChain, payers: Payers, withinMs: number): Promise<ChainCondition | undefined> {
    const key = JSON.stringify([chain.settings.chainId, payers]);
    return inTime(() => this.kept.get(key) ?? this.ask(key, chain, payers), withinMs);
  }

  /**
   * An operation that is sent while no executor can pay for a bundle would only wait.
   * @throws Refusal dependency_unavailable while no executor has gas, and until the chain is prepared
   */
  async requireGas(chain: ServedChain): Promise<void> {
    const payers = payersOf(chain.settings, await chain.preparation());
    const condition = await this.of(chain, payers, TOLD_WITHIN_MS);
    if (condition?.hasGas !== false) return;
    const detail = `no executor of chain ${String(chain.settings.chainId)} can pay for a bundle: its operator sends them some`;
    throw new Refusal('dependency_unavailable', detail, { retryAfter: KEPT_MS / 1_000 });
  }

  private ask(key: string, chain: ServedChain, payers: Payers): Promise<ChainCondition> {
    const asked = conditionOf(chain, payers);
    // A missing answer is kept, too: the next caller is told so without asking the chain again.
    this.kept.set(key, asked, this.clock.elapsed());
    return asked;
  }
}

const conditionOf = async (chain: ServedChain, { paymaster, executors }: Payers): Promise<ChainCondition> => {
  const addresses = [...(paymaster === null ? [] : [paymaster]), ...executors];
  const [{ baseFeePerGas }, accounts] = await Promise.all([
    chain.operations.head(),
    addresses.length === 0 ? [] : chain.operations.accounts(addresses),
  ]);
  const ofExecutors = accounts.slice(addresses.length - executors.length);
  return {
    depositWei: paymaster === null ? undefined : accounts[0]?.depositWei,
    hasGas: executors.length === 0 || ofExecutors.some(({ wei }) => wei > 0n && wei >= BUNDLE_GAS * baseFeePerGas),
  };
};
