import { nonceParts, type UserOperation } from '../../operations/domain/user-operation.ts';
import type { BundlerFaults } from './bundler-faults.ts';
import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { CREATE_ACCOUNT, type SimulatedEntryPoint } from './simulated-entry-point.ts';
import { named, type SimulatedState } from './simulated-state.ts';

/** Probabilities of actions, per block. */
export interface StrangersHabits {
  /** Strangers bundle operations that they have seen. */
  bundle: number;
  /** A stranger deploys an account before the operation that would. */
  deploy: number;
  /** The owner of an account withdraws its balance and its deposit. */
  drain: number;
}

const OPERATIONS_MOST = 3;

/** Other users of a chain. They see each signed operation that a node receives. */
export class SimulatedStrangers {
  /** By executor: transactions that a stranger sent with the executor's key. */
  readonly usedNonces = new Map<string, number>();
  private readonly seen = new Map<string, UserOperation>();

  constructor(
    private readonly random: SeededRandom,
    public habits: StrangersHabits,
    private readonly faults: BundlerFaults,
  ) {}

  see(operation: UserOperation): void {
    this.seen.set(`${operation.sender} ${String(operation.nonce)} ${operation.signature}`, operation);
  }

  /** Returns operations that the strangers bundle in the next block, all with the next nonce of their key. */
  bundles(state: SimulatedState): UserOperation[] {
    if (!this.random.chance(this.habits.bundle)) return [];
    const due = [...this.seen.values()].filter(({ sender, nonce }) => {
      const { key, sequence } = nonceParts(nonce);
      return state.get(named.sequence(sender, key)) === sequence;
    });
    return this.random.some(due, OPERATIONS_MOST);
  }

  /** Returns the action of a stranger with a copy of the key vault, who sends a transaction of an executor. */
  useNonce(executor: string): (state: SimulatedState) => void {
    this.usedNonces.set(executor, (this.usedNonces.get(executor) ?? 0) + 1);
    this.faults.count('somebody else uses a nonce of an executor');
    return (state) => state.add(named.count(executor), 1n);
  }

  /** Returns the other actions of the strangers in the next block. */
  actions(entryPoint: SimulatedEntryPoint): ((state: SimulatedState) => void)[] {
    const { random, habits } = this;
    const [deploys, drains] = [random.chance(habits.deploy), random.chance(habits.drain)];
    const operations = deploys || drains ? [...this.seen.values()] : [];
    const actions: ((state: SimulatedState) => void)[] = [];
    const owner = CREATE_ACCOUNT.exec(deploys ? (random.pick(operations)?.factory?.data ?? '') : '')?.[1];
    if (owner !== undefined) {
      const address = entryPoint.accountOf(`0x${owner}`);
      actions.push((state) => {
        if (state.get(named.code(address)) === 0n) this.faults.count('a stranger deploys an account');
        state.set(named.code(address), 1n);
      });
    }
    const sender = drains ? random.pick(operations)?.sender : undefined;
    if (sender !== undefined) {
      actions.push((state) => {
        if (state.get(named.code(sender)) === 0n) return;
        this.faults.count('an owner empties an account');
        state.set(named.wei(sender), 0n);
        state.set(named.deposit(sender), 0n);
      });
    }
    return actions;
  }
}
