import { LRUCache } from 'lru-cache';
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
/** How much gas each of these may simulate in a millisecond. */
const GAS_PER_MS = 100_000;
/**
 * A request of more gas than this is long: a node may work on it for a tenth of a second, and some nodes make no block meanwhile. That one
 * is long shows afterwards only: so callers who had one lately, or are not known yet, wait for the one place that there is for long ones.
 */
const LONG_GAS = 4_000_000;
const LONG_CALLER_MS = 60_000;
const CALLERS_MAX = 10_000;
/** How long a node rests after a long request, in times of its work. */
const REST = 0.5;
const ANSWERED_WITHIN_MS = 10_000;

interface Places {
  short: QuerySlots;
  long: QuerySlots;
}

export interface EstimateAsker {
  /** A user, or an app itself. */
  caller: string;
  /** Aborts when nobody waits for the answer any more. */
  ended: AbortSignal;
}

/** Simulates operations for callers, each of whom may have so much gas simulated (`simulatedGas` of `RATE_LIMITS`). */
export class CountedSimulations {
  /** By chain id. */
  private readonly places = new Map<number, Places>();
  /** Whether callers had a long request lately. */
  private readonly areLong = new LRUCache<string, boolean>({ max: CALLERS_MAX });

  constructor(private readonly limits: Pick<RateLimits, 'count' | 'peek'>) {}

  /** For an estimate that is all that its caller wants: callers take turns, and sends go first. */
  estimatorOf(chain: ServedChain, { caller, ended }: EstimateAsker): GasEstimator {
    const { short, long } = this.placesOf(chain.settings.chainId);
    const tooLong = 'many estimates are asked for at this chain: ask again';
    const budget = new QueryBudget({ caller, withinMs: ANSWERED_WITHIN_MS, signal: ended, tooLong });
    return this.estimator(chain, (requests) => {
      const { promise, resolve, reject } = Promise.withResolvers<Simulation[]>();
      const together = (all: readonly SimulationRequest[]) => chain.operations.simulate(all);
      // A node works on everything that it has at once.
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
        // The next one waits for as long as the node is to be free for sends, although nobody waits for this one any more.
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
