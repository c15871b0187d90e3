import type { OperationsChain, Simulation, SimulationRequest } from './operations-chain.ts';

/** Simulates in one request what is asked for while the event loop turns once. */
export class GatheredSimulations {
  private waiting: SimulationRequest[] = [];
  private answers: Promise<Simulation[]> | undefined;

  constructor(private readonly chain: Pick<OperationsChain, 'simulate'>) {}

  /** In the order asked for. @throws ChainUnavailable */
  async simulate(requests: readonly SimulationRequest[]): Promise<Simulation[]> {
    const start = this.waiting.length;
    this.waiting.push(...requests);
    this.answers ??= new Promise((resolve) => {
      setImmediate(() => {
        const { waiting } = this;
        this.waiting = [];
        this.answers = undefined;
        resolve(this.chain.simulate(waiting));
      });
    });
    const answers = await this.answers;
    return answers.slice(start, start + requests.length);
  }
}
