import { refuseUsedUp, type RateLimits } from '../../../shared/edge/rate-limits.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import { QuerySlots } from '../../../shared/read-store/query-slots.ts';
import { readExecution } from './execution-probe.ts';
import { CALL_GAS_MAX, GasEstimator, type Simulations } from './gas-estimator.ts';
import type { Simulation, SimulationRequest } from './operations-chain.ts';
import type { ServedChain } from './served-chains.ts';

/** Requests of estimates that a node has at a time. Sends have four of their own, and so are answered in between. */
const AT_A_TIME = 4;
/** How much each of these may simulate in a millisecond: all together take a node a fifth of one processor. */
const GAS_PER_MS = 100_000;
const ANSWERED_WITHIN_MS = 10_000;

export interface EstimateAsker {
  /** A user, or an app itself. */
  caller: string;
  /** Aborts when nobody waits for the answer any more. */
  ended: AbortSignal;
}

/** Simulates operations for callers, each of whom may have so much gas simulated (`simulatedGas` of `RATE_LIMITS`). */
export class CountedSimulations {
  /** By chain id. */
  private readonly slots = new Map<number, QuerySlots>();

  constructor(private readonly limits: Pick<RateLimits, 'count' | 'peek'>) {}

  /** For an estimate that is all that its caller wants: callers take turns, and sends go first. */
  estimatorOf(chain: ServedChain, { caller, ended }: EstimateAsker): GasEstimator {
    const { chainId } = chain.settings;
    const slots = this.slots.get(chainId) ?? new QuerySlots(AT_A_TIME);
    this.slots.set(chainId, slots);
    const tooLong = 'many estimates are asked for at this chain: ask again';
    const budget = new QueryBudget({ caller, withinMs: ANSWERED_WITHIN_MS, signal: ended, tooLong });
    return this.estimator(chain, (requests) => {
      const { promise, resolve, reject } = Promise.withResolvers<Simulation[]>();
      const simulate = async () => {
        const { simulations, gas } = await this.counted(chain, { caller, requests }, (all) =>
          chain.operations.simulate(all),
        );
        resolve(simulations);
        // The next one waits for as long as the node is to be free for sends, although nobody waits for this one any more.
        await pause(gas / GAS_PER_MS);
      };
      slots.run(budget, simulate).catch(reject);
      return promise;
    });
  }

  /** For an estimate that a send needs. */
  estimatorOfSend(chain: ServedChain, caller: string): GasEstimator {
    return this.estimator(chain, (requests) => this.ofSend(chain, caller, requests));
  }

  /** Simulates what is sent, or signed by the paymaster: it does not wait behind estimates. In the order asked for. */
  async ofSend(chain: ServedChain, caller: string, requests: readonly SimulationRequest[]): Promise<Simulation[]> {
    return (await this.counted(chain, { caller, requests }, (all) => chain.simulations.ask(all))).simulations;
  }

  private estimator(chain: ServedChain, ask: Simulations['ask']): GasEstimator {
    return new GasEstimator(chain.operations, { ask });
  }

  /** @throws Refusal rate_limited once a caller has used up what it may have simulated */
  private async counted(
    chain: ServedChain,
    { caller, requests }: { caller: string; requests: readonly SimulationRequest[] },
    simulate: Simulations['ask'],
  ): Promise<{ simulations: Simulation[]; gas: number }> {
    refuseUsedUp(await this.limits.peek('simulatedGas', caller), 'have simulated', 'gas');
    const simulations = await simulate(requests);
    const gas = Number(gasOf(requests, simulations, chain.settings.entryPoint));
    await this.limits.count('simulatedGas', caller, gas);
    return { simulations, gas };
  }
}

/** What a node has executed. A call that does not say what it used counts as the largest of those that do. */
const gasOf = (
  requests: readonly SimulationRequest[],
  simulations: readonly Simulation[],
  entryPoint: string,
): bigint => {
  let sum = 0n;
  let largest = 0n;
  let unmeasured = 0n;
  for (const [at, simulation] of simulations.entries()) {
    const { operation, target } = requests[at] ?? {};
    if (simulation.kind !== 'valid') {
      sum += (operation?.verificationGasLimit ?? 0n) + (operation?.paymaster?.verificationGasLimit ?? 0n);
      continue;
    }
    sum += simulation.preOpGas + (operation?.callGasLimit ?? 0n);
    if (!target) continue;
    const execution = target.address === entryPoint ? readExecution(simulation.targetResult) : undefined;
    if (!execution) unmeasured += 1n;
    const called = execution?.gasUsed ?? 0n;
    sum += called;
    if (called > largest) largest = called;
  }
  return sum + unmeasured * (largest === 0n ? CALL_GAS_MAX : largest);
};
