import { pino } from 'pino';
import { sponsorshipStream } from '../../../schemas/events/sponsorship-events.ts';
import { transactionStream } from '../../../schemas/events/transaction-events.ts';
import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import { MemoryEventStore } from '../../../shared/event-store/event-store.memory.ts';
import { foldEvents } from '../../../shared/event-store/folded-streams.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { reservationsModel } from '../../../shared/read-models/reservations.ts';
import { transactionsModel } from '../../../shared/read-models/transactions.ts';
import type { ReadModel } from '../../../shared/read-models/read-model.ts';
import { MemoryReadStore } from '../../../shared/read-store/read-store.memory.ts';
import { projectInto } from '../../../shared/testing/project.ts';
import { TestClock } from '../../../shared/testing/test-foundation.ts';
import { Bundler } from '../bundle-operations/bundler.ts';
import { ExecutorAccount } from '../bundle-operations/executor-account.ts';
import { ReservationsOnChain } from '../bundle-operations/reservations-on-chain.ts';
import { checkpointOf, followedBy, recoverOperations, takeOver } from '../bundle-operations/recover-operations.ts';
import { Records } from '../bundle-operations/records.ts';
import { Sponsorships, utcDay } from '../edge/sponsorships.ts';
import { transactionFold, type Transaction } from '../domain/transaction.ts';
import { BundlerFaults } from './bundler-faults.ts';
import { SeededRandom } from '../../../shared/testing/seeded-random.ts';
import { SimulatedChain } from './simulated-chain.ts';
import { CONTRACTS, EXECUTORS, OWN_CONTRACTS, OWNERS } from './simulated-contracts.ts';
import { randomHabits, type SimulatedHabits } from './simulated-habits.ts';
import { SimulatedLife } from './simulated-life.ts';
import { SimulatedNode } from './simulated-node.ts';
import { APP, SimulatedSenders, type Send } from './simulated-senders.ts';
import { named } from './simulated-state.ts';

const ETHER = 10n ** 18n;
const GWEI = 10n ** 9n;
const CHAIN_ID = CONTRACTS.chainId;
const FEE_CAP = 200n * GWEI;
const FOR_ACCOUNT = ETHER / 100n;
const FOR_EXECUTOR = ETHER / 20n;
const FOR_PAYMASTER = ETHER / 10n;
const CONFIRMATIONS = 8;
/** Less than what counts as final. */
const REORGANISED_MOST = 5;
const SILENT = pino({ level: 'silent' });
const ROUNDS = 50;
/** With what the clock was set back. */
const EXPIRED_WITHIN_MS = 1_500_000;
const CALM_ROUNDS_MOST = 600;
const CALM_SECONDS = 60;
const GENESIS_MS = Date.parse('2026-01-02T03:00:00.000Z');

interface Process {
  life: SimulatedLife;
  bundler: Bundler;
  reservations: ReservationsOnChain;
  senders: SimulatedSenders;
  /** The position up to which it has taken over events. */
  taken: number;
  isRecovered: boolean;
}

/** One seed: users, processes of the service that are killed, and a chain of which anything that can happen does. */
export class BundlerSimulation {
  readonly chain: SimulatedChain;
  readonly store: MemoryEventStore;
  readonly executors = EXECUTORS.map(({ address }) => address);
  /** Somebody has sent transactions with these accounts before. */
  readonly firstNonces: ReadonlyMap<string, number>;
  readonly sends: Send[] = [];
  /** The stream of what the paymaster's app has reserved. */
  readonly sponsorship = sponsorshipStream(APP, utcDay(GENESIS_MS));
  /** All that was ever put in the paymaster's deposit. */
  depositedWei = 0n;
  private readonly clock = new TestClock(GENESIS_MS);
  private readonly random: SeededRandom;
  /** Behind what is stored, as far as it happens to be. */
  private readonly readStore = new MemoryReadStore();
  private readonly habits: SimulatedHabits;
  private isCalm = false;
  /** When no signature of a paymaster counts any more. */
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

  /** Everything at once, and then nothing but what is needed to bring all operations to an end. */
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

  /** So that in one block each operation is looked at that cannot be included. */
  private async calmSteps(process: Process): Promise<void> {
    const steps = 1 + process.bundler.pool.size / this.executors.length;
    for (let step = 0; step < steps; step += 1) await this.step(process);
  }

  /** Runs parts of what a process does, at once; begins another process where there is none. */
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
      records: new Records(transactor, CHAIN_ID),
      own: OWN_CONTRACTS,
      executors: EXECUTORS.map((key) => new ExecutorAccount(CHAIN_ID, chain.options.entryPoint, key)),
      replacements: { signAnew: (one, { deploys }) => senders.signAnew(one, deploys) },
    });
    return { life, isRecovered: false, taken: 0, bundler, reservations, senders };
  }

  private isKilledNow(): boolean {
    const isKilled = !this.isCalm && this.random.chance(this.habits.killed);
    if (isKilled) this.faults.count('a process is killed');
    return isKilled;
  }

  /** As the loop does that bundles. */
  private async recover(process: Process): Promise<void> {
    const { readStore } = this;
    for (const model of [transactionsModel, reservationsModel]) await this.project(model);
    try {
      process.taken = await recoverOperations(process, { chainId: CHAIN_ID, eventStore: this.store, readStore });
      process.isRecovered = true;
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      // The next one recovers anew.
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
    const { events } = await this.store.readAll(process.taken, { types: followedBy({}) }, Infinity);
    for (const event of events) {
      await takeOver(process, event);
      process.taken = event.position;
    }
  }

  private async step({ bundler }: Process): Promise<void> {
    try {
      await bundler.step();
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
    }
    if (this.isCalm || this.random.chance(0.3)) {
      await this.readStore.apply(checkpointOf(CHAIN_ID), [], bundler.recordedUpTo);
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

  /** Returns what is stored of a transaction. */
  async transactionOf(id: string): Promise<Transaction | undefined> {
    const events = await this.store.read(transactionStream(id));
    return foldEvents(transactionFold, undefined, events);
  }

  private get isAllOver(): boolean {
    const { process, chain } = this;
    return (
      process?.isRecovered === true && process.bundler.pool.size === 0 && chain.head.timestamp * 1_000 > this.expiredAt
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

  /** Another branch takes the place of the newest blocks, at once, and is no shorter. */
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
    chain.pool.habits = { forgets: 0, leavesOut: 0, minesReplaced: 0 };
    chain.strangers.habits = { bundle: 0, deploy: 0, drain: 0 };
    this.deposit(FOR_PAYMASTER);
    for (const address of this.executors) chain.sendWei(address, ETHER);
  }

  private deposit(wei: bigint): void {
    this.depositedWei += wei;
    this.chain.depositWei(CONTRACTS.paymaster.address, wei);
  }
}
