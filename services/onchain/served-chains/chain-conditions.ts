import type { Clock } from '../../../shared/primitives/clock.ts';
import { inTime } from '../../../shared/primitives/in-time.ts';
import { KeptValues } from '../../../shared/primitives/kept-values.ts';
import type { ChainSettings } from '../../../shared/config/settings.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { PreparedChain } from '../domain/prepared-chain.ts';
import type { ServedChain } from './served-chains.ts';

/** However many ask, each chain is asked no more often than this. */
const KEPT_MS = 5_000;
/** A send does not wait for it any longer. */
const TOLD_WITHIN_MS = 500;
const CHAINS_MAX = 1_000;
/** Less gas than any bundle takes. */
const BUNDLE_GAS = 100_000n;

/** What a chain says of those who pay for operations. */
export interface ChainCondition {
  /** `undefined` without a paymaster. */
  depositWei: bigint | undefined;
  /** Whether one of the executors can pay for a bundle, or there are none to pay. */
  hasGas: boolean;
}

export interface Payers {
  paymaster: string | null;
  executors: readonly string[];
}

/** Who pays for operations on a chain. Whoever else bundles does that with executors of its own. */
export const payersOf = (
  { paymaster, bundlerUrls = [] }: Pick<ChainSettings, 'paymaster' | 'bundlerUrls'>,
  prepared: PreparedChain | undefined,
): Payers => ({
  paymaster: paymaster ?? prepared?.paymaster ?? null,
  executors: bundlerUrls.length === 0 ? (prepared?.executors ?? []) : [],
});

/** How chains are, as they were at most 5 s ago. */
export class ChainConditions {
  private readonly kept: KeptValues<Promise<ChainCondition>>;

  constructor(private readonly clock: Pick<Clock, 'elapsed'>) {
    this.kept = new KeptValues(clock, { max: CHAINS_MAX, keptMs: KEPT_MS });
  }

  /** Returns `undefined` while the chain does not answer in time. */
  of(chain: ServedChain, payers: Payers, withinMs: number): Promise<ChainCondition | undefined> {
    const key = JSON.stringify([chain.settings.chainId, payers]);
    return inTime(() => this.kept.get(key) ?? this.ask(key, chain, payers), withinMs);
  }

  /**
   * What is sent while nobody can pay for a bundle would only wait.
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
    // Also where there is no answer: the next one who asks is told so without asking again.
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
