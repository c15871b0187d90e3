import type { Clock } from '../../../shared/primitives/clock.ts';
import { inTime } from '../../../shared/primitives/in-time.ts';
import { KeptValues } from '../../../shared/primitives/kept-values.ts';
import type { ServedChain } from '../edge/served-chains.ts';

/** Whoever asks for the status, however often, asks each chain no more often than this. */
const KEPT_MS = 5_000;
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

interface Payers {
  paymaster: string | null;
  executors: readonly string[];
}

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
