import { pino } from 'pino';
import { executorStream } from '../../../../schemas/events/onchain/executor-events.ts';
import { MemoryEventStore } from '../../../../shared/testing/engines/event-store.memory.ts';
import { transactionStream } from '../../../../schemas/events/onchain/transaction-events.ts';
import type { StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import { TestClock } from '../../../../shared/testing/test-foundation.ts';
import { Sponsorships } from '../../sponsorship/sponsorships.ts';
import { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { SimulatedChain, type SimulatedChainOptions } from '../simulated-chain/simulated-chain.ts';
import { CONTRACTS, EXECUTORS, OWN_CONTRACTS, OWNERS } from '../simulated-chain/simulated-contracts.ts';
import { SimulatedNode, type NodeHabits } from '../simulated-chain/simulated-node.ts';
import { SimulatedSenders, type Send } from './simulated-senders.ts';
import { named } from '../simulated-chain/simulated-state.ts';
import { Bundler } from '../../bundler/bundler.ts';
import { Bundles } from '../../bundler/bundles/bundles.ts';
import { ExecutorAccount } from '../../bundler/bundles/executor-account.ts';
import { ForeignEntities } from '../../bundler/mempool/foreign-entities.ts';
import { Mempool } from '../../bundler/mempool/mempool.ts';
import { BundlerStreams } from '../../bundler/mempool/bundler-streams.ts';
import { RetryPolicy } from '../../bundler/mempool/retry-policy.ts';
import type { Resigner } from '../../bundler/mempool/resigner.ts';
import { ReservationsOnChain } from '../../bundler/reservations-on-chain.ts';

const ETHER = 10n ** 18n;
/** Longer than the next bundle waits to fill up. */
const FILLED_MS = 100;
/** The highest fee of a bundle, in wei per gas. */
export const FEE_CAP = 200n * 10n ** 9n;
const { chainId, entryPoint, paymaster } = CONTRACTS;

const NOTHING_ANEW: Resigner = { resign: () => Promise.reject(new Error('no operation may be signed again')) };

/** Operations that wait for a bundler, on a chain that mines only when a spec says so. */
export class WaitingOperations {
  readonly store = new MemoryEventStore(new TestClock());
  readonly chain: SimulatedChain;
  private readonly clock = new TestClock();
  private readonly transactor = new Transactor(this.store, this.clock, systemIds);
  private readonly random = new SeededRandom(1);
  private readonly sends: Send[] = [];
  private bundler: Bundler | undefined;
  readonly logged: string[] = [];

  constructor(options: Partial<SimulatedChainOptions> = {}) {
    this.chain = new SimulatedChain({ ...CONTRACTS, random: this.random, genesisTime: 1_767_000_000, ...options });
    this.chain.depositWei(paymaster.address, 100n * ETHER);
    for (const { address } of EXECUTORS) this.chain.sendWei(address, 100n * ETHER);
    for (const { address } of OWNERS) {
      const account = this.chain.entryPoint.accountOf(address);
      this.chain.sendWei(account, 100n * ETHER);
      this.chain.inNextBlock((state) => {
        state.set(named.code(account), 1n);
      });
    }
    this.chain.mine();
  }

  async send(count: number): Promise<void> {
    for (let at = 0; at < count; at += 1) await this.senders.send();
  }

  get ids(): string[] {
    return this.sends.flatMap(({ ids }) => ids);
  }

  get senders(): SimulatedSenders {
    const { chain, random, sends, transactor } = this;
    return new SimulatedSenders(chain, random, sends, transactor, new Sponsorships(transactor));
  }

  async eventsOf(id: string): Promise<string[]> {
    return (await this.store.read(transactionStream(id))).map(({ type }) => type);
  }

  /** Starts a bundler that recovers the sent operations and the state of earlier bundlers. */
  async begin({
    habits = {},
    finalBlock,
    resigner = NOTHING_ANEW,
  }: { habits?: Partial<NodeHabits>; finalBlock?: number; resigner?: Resigner } = {}): Promise<Bundler> {
    const { chain, clock, transactor, logged } = this;
    const logger = pino({ level: 'error', base: null }, { write: (line: string) => logged.push(line) });
    const bundler = new Bundler({
      chain: new SimulatedNode(chain, this.random, habits),
      ...{ bundlerUrls: [], confirmations: 8, feeCap: FEE_CAP, clock, logger },
      settlements: new ReservationsOnChain(chainId, paymaster.address, new Sponsorships(transactor)),
      streams: new BundlerStreams(transactor, chainId),
      executors: EXECUTORS.map((key) => new ExecutorAccount(chainId, entryPoint, key)),
      own: OWN_CONTRACTS,
      resigner,
    });
    await bundler.recover({ open: this.ids, finalBlock });
    this.bundler = bundler;
    return bundler;
  }

  /** Returns `Bundles` and its parts without a bundler: the spec calls them itself. */
  async bundlesAlone(): Promise<{
    mempool: Mempool;
    bundles: Bundles;
    executor: ExecutorAccount;
    streams: BundlerStreams;
  }> {
    const { clock, transactor } = this;
    const [chain, mempool, streams] = [
      new SimulatedNode(this.chain, this.random),
      new Mempool(),
      new BundlerStreams(transactor, chainId),
    ];
    for (const id of this.ids) mempool.put(id, await streams.loadTransaction(id));
    const executors = EXECUTORS.map((key) => new ExecutorAccount(chainId, entryPoint, key));
    const recheckInclusion = () => Promise.resolve();
    const retries = new RetryPolicy({ chain, mempool, streams, resigner: NOTHING_ANEW, recheckInclusion, clock });
    const foreign = new ForeignEntities({ streams, retries, own: OWN_CONTRACTS, clock });
    const parts = { chain, mempool, streams, executors, foreign, retries, clock };
    const [executor] = executors;
    if (!executor) throw new Error('there is no executor');
    return {
      mempool,
      executor,
      streams,
      bundles: new Bundles({ ...parts, feeCap: FEE_CAP, logger: pino({ level: 'silent' }) }),
    };
  }

  /** Bundles all operations. Returns the number of operations of each bundle. */
  async bundles(): Promise<number[]> {
    await this.begin();
    while (await this.bundler?.step()) this.clock.time += FILLED_MS;
    const signed = await this.storedOf('BundleSigned');
    return signed.map(({ data }) => (data['operations'] as string[]).length);
  }

  /** Steps the bundler for `count` seconds, with one block of this base fee in each. */
  async blocks(count: number, baseFeePerGas: bigint): Promise<void> {
    for (let block = 0; block < count; block += 1) {
      this.chain.mine({ baseFeePerGas });
      for (let ms = 0; ms < 1_000; ms += FILLED_MS) {
        while (await this.bundler?.step());
        this.clock.time += FILLED_MS;
      }
    }
  }

  async storedOf(type: string): Promise<StoredEvent[]> {
    const streams = EXECUTORS.map(({ address }) => this.store.read(executorStream(chainId, address)));
    return (await Promise.all(streams)).flat().filter((event) => event.type === type);
  }
}
