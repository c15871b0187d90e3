import { pino } from 'pino';
import { sponsorshipStream } from '../../../../schemas/events/onchain/sponsorship-events.ts';
import { transactionStream } from '../../../../schemas/events/onchain/transaction-events.ts';
import { ChainUnavailable } from '../../../../shared/chain/chain-reader.ts';
import { MemoryEventStore } from '../../../../shared/testing/engines/event-store.memory.ts';
import { foldEvents } from '../../../../shared/event-store/transactions/folded-streams.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { reservationsModel } from '../../../../shared/read-models/onchain/reservations.ts';
import { transactionsModel } from '../../../../shared/read-models/onchain/transactions.ts';
import type { ReadModel } from '../../../../shared/read-models/read-model.ts';
import { MemoryReadStore } from '../../../../shared/testing/engines/read-store.memory.ts';
import { projectInto } from '../../../../shared/testing/project.ts';
import { TestClock } from '../../../../shared/testing/test-foundation.ts';
import { Bundler } from '../../bundler/bundler.ts';
import { ExecutorAccount } from '../../bundler/bundles/executor-account.ts';
import { ReservationsOnChain } from '../../bundler/reservations-on-chain.ts';
import { applyEvent, checkpointName, eventTypesFor, recoverOperations } from '../../bundler/recover-operations.ts';
import { BundlerStreams } from '../../bundler/mempool/bundler-streams.ts';
import { Sponsorships, utcDay } from '../../sponsorship/sponsorships.ts';
import { transactionFold, type Transaction } from '../../transactions/domain/transaction.ts';
import { BundlerFaults } from '../simulated-chain/bundler-faults.ts';
import { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { SimulatedChain } from '../simulated-chain/simulated-chain.ts';
import { CONTRACTS, EXECUTORS, OWN_CONTRACTS, OWNERS } from '../simulated-chain/simulated-contracts.ts';
import { randomHabits, type SimulatedHabits } from './simulated-habits.ts';
import { SimulatedLife } from './simulated-life.ts';
import { SimulatedNode } from '../simulated-chain/simulated-node.ts';
import { APP, SimulatedSenders, type Send } from './simulated-senders.ts';
import { named } from '../simulated-chain/simulated-state.ts';

const ETHER = 10n ** 18n;
const GWEI = 10n ** 9n;
const CHAIN_ID = CONTRACTS.chainId;
const FEE_CAP = 200n * GWEI;
const FOR_ACCOUNT = ETHER / 100n;
const FOR_EXECUTOR = ETHER / 20n;
const FOR_PAYMASTER = ETHER / 10n;
const CONFIRMATIONS = 8;
/** Shallower than finality. */
const REORGANISED_MOST = 5;
const SILENT = pino({ level: 'silent' });
const ROUNDS = 50;
/** Includes the time by which the clock may be set back. */
const EXPIRED_WITHIN_MS = 1_500_000;
const CALM_ROUNDS_MOST = 600;
const CALM_SECONDS = 60;
const GENESIS_MS = Date.parse('2026-01-02T03:00:00.000Z');

interface Process {
  life: SimulatedLife;
  bundler: Bundler;
  reservations: ReservationsOnChain;
  senders: SimulatedSenders;
  /** The position of the last event applied. */
  after: number;
  isRecovered: boolean;
}

/** One seed: users, processes of the service that are killed, and a chain with faults. */
export class BundlerSimulation {
  readonly chain: SimulatedChain;
  readonly store: MemoryEventStore;
  readonly executors = EXECUTORS.map(({ address }) => address);
  /** By executor: its nonce at the start, for somebody may have sent transactions with the account before. */
  readonly firstNonces: ReadonlyMap<string, number>;
  readonly sends: Send[] = [];
  /** The stream of the reservations of the paymaster's app. */
  readonly sponsorship = sponsorshipStream(APP, utcDay(GENESIS_MS));
  /** The sum of all payments into the paymaster's deposit. */
  depositedWei = 0n;
  private readonly clock = new TestClock(GENESIS_MS);
  private readonly random: SeededRandom;
  /** Lags behind the event store by a random number of events. */
  private readonly readStore = new MemoryReadStore();
  private readonly habits: SimulatedHabits;
  private isCalm = false;
  /** When every paymaster signature has expired. */
  private expiredAt = Infinity;
  private process: Process | undefined;

  constructor(
    seed: number,
    private readonly faults = new BundlerFaults(),
  ) {
    const random = new SeededRandom(seed);
    this.random = random;
    this.habits = randomHabits(random);
    this.store = new MemoryEventStore(this.clock);
    const chance = { random, faults, genesisTime: GENESIS_MS / 1_000 };
    this.chain = new SimulatedChain({ ...CONTRACTS, ...chance, ...this.habits.chain });
    this.firstNonces = new Map(this.executors.map((address) => [address, random.between(0, 3)]));
    this.chain.inNextBlock((state) => {
      for (const [address, nonce] of this.firstNonces) state.set(named.count(address), BigInt(nonce));
    });
    this.deposit(FOR_PAYMASTER / BigInt(random.between(1, 40)));
    for (const address of this.executors) this.chain.sendWei(address, FOR_EXECUTOR);
    for (const owner of OWNERS) this.chain.sendWei(this.chain.entryPoint.accountOf(owner.address), FOR_ACCOUNT);
    for (let blocks = 0; blocks <= CONFIRMATIONS; blocks += 1) this.mine();
  }

  /** Runs rounds with faults, then rounds without, until all operations are final. */
  async run(): Promise<void> {
    for (let round = 0; round < ROUNDS; round += 1) await this.round();
    this.calmDown();
    for (let round = 0; round < CALM_ROUNDS_MOST && !this.isAllOver; round += 1) await this.calmRound();
    for (let block = 0; block <= CONFIRMATIONS; block += 1) await this.calmRound();
  }

  private async round(): Promise<void> {
    const { random, chain, clock } = this;
    clock.time += random.between(0, 1_500);
    if (random.chance(0.04)) this.setClock(random.between(-600_000, 600_000));
    if (random.chance(0.4)) this.mine();
    if (random.chance(0.06)) this.reorganise();
    if (random.chance(0.02)) chain.pool.forgetAll();
    if (random.chance(0.1)) this.changeBalances();
    if (random.chance(0.01)) chain.inNextBlock(chain.strangers.useNonce(random.pick(this.executors) ?? ''));
    await this.work((process) => {
      const sends = random.chance(0.4) ? random.between(1, 3) : 0;
      const sending = Array.from({ length: sends }, () => this.send(process));
      return [...sending, this.follow(process), ...(random.chance(0.8) ? [this.step(process)] : [])];
    });
  }

  private async calmRound(): Promise<void> {
    const { chain, clock } = this;
    clock.time += CALM_SECONDS * 1_000;
    for (const owner of OWNERS) chain.sendWei(chain.entryPoint.accountOf(owner.address), FOR_ACCOUNT);
    chain.mine({ baseFeePerGas: GWEI / 10n, timestamp: chain.head.timestamp + CALM_SECONDS });
    await this.work((process) => [this.follow(process).then(() => this.calmSteps(process))]);
  }

  /** Steps often enough that each operation that cannot be included is tried within one block. */
  private async calmSteps(process: Process): Promise<void> {
    const steps = 1 + process.bundler.mempool.size / this.executors.length;
    for (let step = 0; step < steps; step += 1) await this.step(process);
  }

  /** Runs parts of a process concurrently; starts a process first if none lives. */
  private async work(parts: (process: Process) => Promise<void>[]): Promise<void> {
    const process = (this.process ??= this.begin());
    const results = await Promise.allSettled(process.isRecovered ? parts(process) : [this.recover(process)]);
    const failed = results.find((result) => result.status === 'rejected');
    if (process.life.isOver) this.process = undefined;
    else if (failed) throw failed.reason;
  }

  private begin(): Process {
    const { random, chain, clock } = this;
    const life = new SimulatedLife(() => this.isKilledNow());
    const between = () => {
      if (!this.isCalm && random.chance(0.02)) this.mine();
      if (!this.isCalm && random.chance(0.006)) this.reorganise();
      life.goOn();
    };
    const transactor = new Transactor(life.storeOf(this.store), clock, {
      uuid: () => random.hash(),
      token: (length) => random.hash().slice(2, 2 + length),
    });
    const node = new SimulatedNode(chain, random, this.isCalm ? {} : this.habits.node, between);
    const sponsorships = new Sponsorships(transactor);
    const reservations = new ReservationsOnChain(CHAIN_ID, CONTRACTS.paymaster.address, sponsorships);
    const senders = new SimulatedSenders(chain, random, this.sends, transactor, sponsorships);
    const bundler = new Bundler({
      ...{
        chain: node,
        bundlerUrls: [],
        confirmations: CONFIRMATIONS,
        feeCap: FEE_CAP,
        settlements: reservations,
        clock,
        logger: SILENT,
      },
      streams: new BundlerStreams(transactor, CHAIN_ID),
      own: OWN_CONTRACTS,
      executors: EXECUTORS.map((key) => new ExecutorAccount(CHAIN_ID, chain.options.entryPoint, key)),
      resigner: senders,
    });
    return { life, isRecovered: false, after: 0, bundler, reservations, senders };
  }

  private isKilledNow(): boolean {
    const isKilled = !this.isCalm && this.random.chance(this.habits.killed);
    if (isKilled) this.faults.count('a process is killed');
    return isKilled;
  }

  /** Recovers as `bundleLoop` does. */
  private async recover(process: Process): Promise<void> {
    const { readStore } = this;
    for (const model of [transactionsModel, reservationsModel]) await this.project(model);
    try {
      process.after = await recoverOperations(process, { chainId: CHAIN_ID, eventStore: this.store, readStore });
      process.isRecovered = true;
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      // The next process recovers again.
      process.life.end();
    }
  }

  private async project(model: ReadModel): Promise<void> {
    await this.readStore.define(Object.values(model.collections));
    const behind = this.isCalm ? 0 : this.random.between(0, 20);
    const { events } = await this.store.readAll(await this.readStore.position(model.name), undefined, Infinity);
    if (behind > 0 && events.length > 0) this.faults.count('a read model is behind');
    await projectInto(this.readStore, [model], events.slice(0, Math.max(0, events.length - behind)));
  }

  private async follow(process: Process): Promise<void> {
    const { events } = await this.store.readAll(process.after, { types: eventTypesFor({}) }, Infinity);
    for (const event of events) {
      await applyEvent(process, event);
      process.after = event.position;
    }
  }

  private async step({ bundler }: Process): Promise<void> {
    try {
      await bundler.step();
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
    }
    if (this.isCalm || this.random.chance(0.3)) {
      await this.readStore.apply(checkpointName(CHAIN_ID), [], bundler.recordedUpTo);
    }
  }

  private async send({ senders }: Process): Promise<void> {
    try {
      await senders.send();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.faults.count('the deposit is too low for another operation');
    }
  }

  /** Returns the stored state of a transaction. */
  async transactionOf(id: string): Promise<Transaction | undefined> {
    const events = await this.store.read(transactionStream(id));
    return foldEvents(transactionFold, undefined, events);
  }

  private get isAllOver(): boolean {
    const { process, chain } = this;
    return (
      process?.isRecovered === true &&
      process.bundler.mempool.size === 0 &&
      chain.head.timestamp * 1_000 > this.expiredAt
    );
  }

  private setClock(ms: number): void {
    this.faults.count(ms > 0 ? 'the clock is set forward' : 'the clock is set back');
    this.clock.jump(ms);
  }

  private mine(): void {
    const { timestamp } = this.chain.head;
    this.clock.time += (this.chain.mine().timestamp - timestamp) * 1_000;
  }

  /** Replaces the newest blocks with a branch that is at least as long. */
  private reorganise(): void {
    const depth = this.random.between(1, REORGANISED_MOST);
    this.chain.reorganise(depth);
    for (let blocks = this.random.between(depth, depth + 1); blocks > 0; blocks -= 1) this.chain.mine();
  }

  private changeBalances(): void {
    const { random, chain, executors } = this;
    const executor = random.pick(executors) ?? '';
    if (random.chance(1 / 3)) {
      chain.inNextBlock((state) => {
        if (state.get(named.wei(executor)) > GWEI) this.faults.count('an executor runs dry');
        state.set(named.wei(executor), GWEI);
      });
    } else chain.sendWei(executor, FOR_EXECUTOR);
    const owner = random.pick(OWNERS);
    if (owner) chain.sendWei(chain.entryPoint.accountOf(owner.address), FOR_ACCOUNT);
    if (random.chance(1 / 3)) this.deposit(FOR_PAYMASTER);
  }

  private calmDown(): void {
    const { chain } = this;
    this.isCalm = true;
    this.expiredAt = Math.max(this.clock.now(), chain.head.timestamp * 1_000) + EXPIRED_WITHIN_MS;
    this.process = undefined;
    chain.pool.calmDown();
    chain.strangers.habits = { bundle: 0, deploy: 0, drain: 0 };
    this.deposit(FOR_PAYMASTER);
    for (const address of this.executors) chain.sendWei(address, ETHER);
  }

  private deposit(wei: bigint): void {
    this.depositedWei += wei;
    this.chain.depositWei(CONTRACTS.paymaster.address, wei);
  }
}
