import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { executorStream } from '../../../schemas/events/executor-events.ts';
import { MemoryEventStore } from '../../../shared/event-store/event-store.memory.ts';
import type { TransactionEvent } from '../../../schemas/events/transaction-events.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { TestClock } from '../../../shared/testing/test-foundation.ts';
import { BundlerWasReplaced } from '../domain/executor.ts';
import { Sponsorships } from '../edge/sponsorships.ts';
import { SeededRandom } from '../testing/seeded-random.ts';
import { SimulatedChain, type SimulatedChainOptions } from '../testing/simulated-chain.ts';
import { CONTRACTS, EXECUTORS, OWN_CONTRACTS, OWNERS } from '../testing/simulated-contracts.ts';
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
const GWEI = 10n ** 9n;
const FEE_CAP = 200n * GWEI;
const { chainId, entryPoint, paymaster } = CONTRACTS;

/** Operations that wait for a bundler, on a chain whose blocks only come when they are asked for. */
class WaitingOperations {
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
    const { chain, random, sends, transactor } = this;
    const senders = new SimulatedSenders(chain, random, sends, transactor, new Sponsorships(transactor));
    for (let at = 0; at < count; at += 1) await senders.send();
  }

  /** Begins a bundler that takes over what was sent, and whatever another one did. */
  async begin(): Promise<Bundler> {
    const { chain, clock, transactor, logged } = this;
    const logger = pino({ level: 'error', base: null }, { write: (line: string) => logged.push(line) });
    const bundler = new Bundler({
      chain: new SimulatedNode(chain, this.random),
      ...{ bundlerUrls: [], confirmations: 8, feeCap: FEE_CAP, clock, logger },
      settlements: new ReservationsOnChain(chainId, paymaster.address, new Sponsorships(transactor)),
      records: new Records(transactor, chainId),
      executors: EXECUTORS.map((key) => new ExecutorAccount(chainId, entryPoint, key)),
      own: OWN_CONTRACTS,
      replacements: { signAnew: () => Promise.reject(new Error('nothing is to be signed anew')) },
    });
    await bundler.recover({ open: this.sends.flatMap(({ ids }) => ids), finalBlock: undefined });
    this.bundler = bundler;
    return bundler;
  }

  /** Makes bundles of all of them. Returns how many operations each has. */
  async bundles(): Promise<number[]> {
    await this.begin();
    while (await this.bundler?.step()) this.clock.time += FILLED_MS;
    const signed = await this.storedOf('BundleSigned');
    return signed.map(({ data }) => (data['operations'] as string[]).length);
  }

  /** Goes on for so many seconds, with a block in each whose base fee is that. */
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

describe('a bundler that another process has replaced', () => {
  it('signs nothing any more, whatever it still records', async () => {
    const waiting = new WaitingOperations();
    await waiting.send(1);
    const replaced = await waiting.begin();
    await replaced.step();
    await waiting.send(1);
    const { events } = await waiting.store.readAll(0, { types: ['TxSubmitted'] }, Infinity);
    for (const { data } of events) await replaced.take({ type: 'TxSubmitted', data } as unknown as TransactionEvent);
    await waiting.begin();
    waiting.chain.mine();
    await expect(replaced.step()).rejects.toThrow(BundlerWasReplaced);
    expect(await waiting.storedOf('BundleMined')).toHaveLength(1);
    expect(await waiting.storedOf('BundleSigned')).toHaveLength(1);
  });
});

describe('a bundle that blocks leave out', () => {
  const feeOf = ({ data }: StoredEvent) => BigInt(data['maxFeePerGas'] as string);

  it('is given an eighth more after three blocks, and again, until one has it', async () => {
    const waiting = new WaitingOperations();
    await waiting.send(1);
    expect(await waiting.bundles()).toEqual([1]);
    const [first] = await waiting.storedOf('BundleSigned');
    const fee = first ? feeOf(first) : 0n;
    await waiting.blocks(2, 2n * fee);
    expect(await waiting.storedOf('BundleReplaced')).toEqual([]);
    await waiting.blocks(4, 2n * fee);
    const raised = (fee * 9n) / 8n + 1n;
    expect((await waiting.storedOf('BundleReplaced')).map(feeOf)).toEqual([raised, (raised * 9n) / 8n + 1n]);
    await waiting.blocks(1, fee);
    expect(await waiting.storedOf('BundleMined')).toHaveLength(1);
    expect(waiting.logged).toEqual([]);
  });

  it('is given no more than the feeCap, which the log says', async () => {
    const waiting = new WaitingOperations();
    await waiting.send(1);
    await waiting.bundles();
    await waiting.blocks(120, 2n * FEE_CAP);
    const fees = (await waiting.storedOf('BundleReplaced')).map(feeOf);
    expect(fees.at(-1)).toBeLessThanOrEqual(FEE_CAP);
    expect(fees.at(-1)).toBeGreaterThan((FEE_CAP * 8n) / 9n);
    expect(waiting.logged.join('\n')).toMatch(/"level":50.*is left out of blocks at the feeCap of the chain/);
    await waiting.blocks(1, GWEI);
    expect(await waiting.storedOf('BundleMined')).toHaveLength(1);
  });
});
