import { LRUCache } from 'lru-cache';
import { refuseUsedUp, type RateLimits } from '../../../shared/edge/limits/rate-limits.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import { QuerySlots } from '../../../shared/read-store/query-slots.ts';
import { readExecution } from '../gas/execution-probe.ts';
import { CALL_GAS_MAX, GasEstimator, type Simulations } from '../gas/gas-estimator.ts';
import type { Simulation, SimulationRequest } from '../chain/operations-chain.ts';
import type { ServedChain } from './served-chains.ts';
import { atMost } from '../../../shared/primitives/at-most.ts';

/** How many requests of estimates a node has at a time. Sends have four of their own, so estimates do not hold them up. */
const AT_A_TIME = 4;
/** How much gas each of these requests may simulate per millisecond. */
const GAS_PER_MS = 100_000;
/**
 * A request of more gas than this is long: a node may work on it for a tenth of a second, and some nodes make no block meanwhile.
 * Only afterwards it is known that a request was long. So callers that had a long one lately, and new callers, wait for the
 * single slot for long requests.
 */
const LONG_GAS = 4_000_000;
const LONG_CALLER_MS = 60_000;
const CALLERS_MAX = 10_000;
/** The pause of a node after a long request, as a multiple of the time that the request took. */
const REST = 0.5;
const ANSWERED_WITHIN_MS = 10_000;

interface Places {
  short: QuerySlots;
  long: QuerySlots;
}

export interface EstimateAsker {
  /** A user, or an app itself. */
  caller: string;
  /** Aborts when the caller does not wait for the answer any more. */
  ended: AbortSignal;
}

/** Simulates operations for callers, with a limit of simulated gas per caller (`simulatedGas` of `RATE_LIMITS`). */
export class CountedSimulations {
  /** By chain id. */
  private readonly places = new Map<number, Places>();
  /** Whether callers had a long request lately. */
  private readonly areLong = new LRUCache<string, boolean>(atMost(CALLERS_MAX));

  constructor(private readonly limits: Pick<RateLimits, 'count' | 'peek'>) {}

  /** Simulates for a request that is only an estimate: callers take turns, and sends go first. */
  estimatorOf(chain: ServedChain, { caller, ended }: EstimateAsker): GasEstimator {
    const { short, long } = this.placesOf(chain.settings.chainId);
    const tooLong = 'many estimates are asked for at this chain: ask again';
    const budget = new QueryBudget({ caller, withinMs: ANSWERED_WITHIN_MS, signal: ended, tooLong });
    return this.estimator(chain, (requests) => {
      const { promise, resolve, reject } = Promise.withResolvers<Simulation[]>();
      const together = (all: readonly SimulationRequest[]) => chain.operations.simulate(all);
      // A node works on all of its requests at the same time.
      const oneByOne = async (all: readonly SimulationRequest[]) => {
        const simulations: Simulation[] = [];
        for (const request of all) {
          budget.check();
          simulations.push(...(await together([request])));
        }
        return simulations;
      };
      const isShort = this.areLong.get(caller) === false;
      const simulate = async () => {
        budget.goesFirst = true;
        const from = performance.now();
        const asked = { caller, requests };
        const { simulations, gas } = await this.counted(chain, asked, isShort ? together : oneByOne);
        this.noteGas(caller, gas);
        resolve(simulations);
        // The next request waits until the pause for sends is over, even if this request's caller has gone.
        const restMs = isShort ? Infinity : REST * (performance.now() - from);
        await pause(Math.min(gas / GAS_PER_MS, restMs));
      };
      (isShort ? short : long).run(budget, simulate).catch(reject);
      return promise;
    });
  }

  private placesOf(chainId: number): Places {
    const known = this.places.get(chainId) ?? { short: new QuerySlots(AT_A_TIME), long: new QuerySlots(1) };
    this.places.set(chainId, known);
    return known;
  }

  private noteGas(caller: string, gas: number): void {
    if (gas >= LONG_GAS) this.areLong.set(caller, true, { ttl: LONG_CALLER_MS });
    else if (!this.areLong.has(caller)) this.areLong.set(caller, false);
  }

  /** Simulates for the estimate of a send. */
  estimatorOfSend(chain: ServedChain, caller: string): GasEstimator {
    return this.estimator(chain, (requests) => this.ofSend(chain, caller, requests));
  }

  /** Simulates operations that are sent or that the paymaster signs, in this order: they do not wait behind estimates. */
  async ofSend(chain: ServedChain, caller: string, requests: readonly SimulationRequest[]): Promise<Simulation[]> {
    return (await this.counted(chain, { caller, requests }, (all) => chain.simulations.ask(all))).simulations;
  }

  private estimator(chain: ServedChain, ask: Simulations['ask']): GasEstimator {
    return new GasEstimator(chain.operations, { ask });
  }

  /** @throws Refusal rate_limited once the caller has used up its limit */
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

/** The gas that a node has executed. A call whose gas is unknown counts as the largest whose gas is known. */
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
