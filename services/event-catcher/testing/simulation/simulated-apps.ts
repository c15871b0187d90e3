import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import type { CatcherFaults } from './catcher-faults.ts';
import { Registrations, type RegisteredWatch } from '../registrations.ts';
import type { SimulatedChain } from '../../../../shared/testing/chain/simulated-chain.ts';
import { SIMULATED_WATCHES } from './simulated-records.ts';

interface World {
  chain: SimulatedChain;
  random: SeededRandom;
  faults: CatcherFaults;
}

/** Apps that register watches and do anything to them. */
export class SimulatedApps {
  readonly registrations: Registrations;

  constructor(
    private readonly world: World,
    store: EventStore,
  ) {
    this.registrations = new Registrations(store);
  }

  async register(): Promise<void> {
    const { random, chain } = this.world;
    const free = SIMULATED_WATCHES.filter(({ watchId }) => !this.registrations.byId.has(watchId));
    const watch = random.pick(free);
    if (watch) await this.registrations.register({ ...watch, startBlock: random.between(0, chain.tip.number) });
  }

  /** Does something to one of the watches, at random. */
  async change(): Promise<void> {
    const { random, chain, faults } = this.world;
    const watch = random.pick([...this.registrations.byId.values()]);
    if (!watch) return;
    const { watchId, startBlock, stopped } = watch;
    if (stopped && random.chance(0.5)) await this.readAgain(watch);
    else if (startBlock > 0 && random.chance(0.3)) {
      faults.count('a watch is extended');
      await this.registrations.extend(watchId, random.between(0, startBlock - 1));
    } else if (startBlock < chain.tip.number && random.chance(0.15)) {
      faults.count('a watch begins later');
      await this.registrations.shorten(watchId, random.between(startBlock + 1, chain.tip.number));
    } else if (startBlock <= chain.finalNumber && random.chance(0.4)) {
      faults.count('blocks of a watch are replayed');
      const from = random.between(startBlock, chain.finalNumber);
      await this.registrations.replay(watchId, from, random.between(from, chain.finalNumber));
    } else if (!stopped) {
      const how = random.chance(0.5) ? 'pause' : 'remove';
      faults.count(how === 'pause' ? 'a watch is paused' : 'a watch is removed');
      await this.registrations.stop(watchId, how);
    }
  }

  async readAllAgain(): Promise<void> {
    for (const watch of this.registrations.byId.values()) if (watch.stopped) await this.readAgain(watch);
  }

  private async readAgain({ watchId }: RegisteredWatch): Promise<void> {
    this.world.faults.count('a watch is read again');
    await this.registrations.readAgain(watchId, false);
  }
}
