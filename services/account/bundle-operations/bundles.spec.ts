import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { executorStream } from '../../../schemas/events/executor-events.ts';
import { MemoryEventStore } from '../../../shared/event-store/event-store.memory.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { TestClock } from '../../../shared/testing/test-foundation.ts';
import { Sponsorships } from '../edge/sponsorships.ts';
import { SeededRandom } from '../testing/seeded-random.ts';
import { SimulatedChain, type SimulatedChainOptions } from '../testing/simulated-chain.ts';
import { CONTRACTS, EXECUTORS, OWNERS } from '../testing/simulated-contracts.ts';
import { SimulatedNode } from '../testing/simulated-node.ts';
import { SimulatedSenders, type Send } from '../testing/simulated-senders.ts';
import { named } from '../testing/simulated-state.ts';
import { Bundler } from './bundler.ts';
import { ExecutorAccount } from './executor-account.ts';
import { Records } from './records.ts';
import { ReservationsOnChain } from './reservations-on-chain.ts';

const ETHER = 10n ** 18n;
/** By then no bundle fills any more. */
const FILLED_MS = 100;
const { chainId, entryPoint, paymaster } = CONTRACTS;

/** Operations that wait for a bundler, on a chain whose blocks only come when they are asked for. */
class WaitingOperations {
  readonly store = new MemoryEventStore(new TestClock());
  readonly chain: SimulatedChain;
  private readonly clock = new TestClock();
  private readonly transactor = new Transactor(this.store, this.clock, systemIds);
  private readonly random = new SeededRandom(1);
  private readonly sends: Send[] = [];

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
    const { chain, random, sends, transactor } = this;
    const senders = new SimulatedSenders(chain, random, sends, transactor, new Sponsorships(transactor));
    for (let at = 0; at < count; at += 1) await senders.send();
  }

  /** A bundler that has taken them over makes bundles. Returns how many operations each has. */
  async bundles(): Promise<number[]> {
    const { chain, clock, transactor, store } = this;
    const bundler = new Bundler({
      chain: new SimulatedNode(chain, this.random),
      ...{ bundlerUrls: [], confirmations: 8, feeCap: 200n * 10n ** 9n, clock, logger: pino({ level: 'silent' }) },
      settlements: new ReservationsOnChain(chainId, paymaster.address, new Sponsorships(transactor)),
      records: new Records(transactor, chainId),
      executors: EXECUTORS.map((key) => new ExecutorAccount(chainId, entryPoint, key)),
      replacements: { signAnew: () => Promise.reject(new Error('nothing is to be signed anew')) },
    });
    await bundler.recover({ open: this.sends.flatMap(({ ids }) => ids), finalBlock: undefined });
    while (await bundler.step()) clock.time += FILLED_MS;
    const streams = await Promise.all(EXECUTORS.map(({ address }) => store.read(executorStream(chainId, address))));
    const signed = streams.flat().filter(({ type }) => type === 'BundleSigned');
    return signed.map(({ data }) => (data['operations'] as string[]).length);
  }
}

describe('bundles of many operations that wait', () => {
  it('go to all executors, and the last takes more than the others', async () => {
    const waiting = new WaitingOperations();
    await waiting.send(280);
    expect(await waiting.bundles()).toEqual([50, 50, 150]);
  });

  it('go to as few executors as they need', async () => {
    const waiting = new WaitingOperations();
    await waiting.send(60);
    expect(await waiting.bundles()).toEqual([50, 10]);
  });

  it('have no more gas than a transaction may have', async () => {
    const waiting = new WaitingOperations({ gasOf: () => ({ verification: 200_000n, execution: 90_000n }) });
    await waiting.send(280);
    expect(await waiting.bundles()).toEqual([50, 50, 38]);
  });
});
