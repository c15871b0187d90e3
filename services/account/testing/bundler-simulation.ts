import { pino } from 'pino';
import { sponsorshipStream } from '../../../schemas/events/sponsorship-events.ts';
import { transactionStream } from '../../../schemas/events/transaction-events.ts';
import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import { MemoryEventStore } from '../../../shared/event-store/event-store.memory.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
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
import { checkpointOf, FOLLOWED, recoverOperations, takeOver } from '../bundle-operations/recover-operations.ts';
import { Records } from '../bundle-operations/records.ts';
import { Sponsorships, utcDay } from '../edge/sponsorships.ts';
import { transactionFold, type Transaction } from '../domain/transaction.ts';
import { SeededRandom } from './seeded-random.ts';
import { SimulatedChain } from './simulated-chain.ts';
import { CONTRACTS, EXECUTORS, OWN_CONTRACTS, OWNERS } from './simulated-contracts.ts';
import { SimulatedNode, type NodeHabits } from './simulated-node.ts';
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
const GENESIS_MS = Date.parse('2026-01-02T03:00:00.000Z');

/** The process was killed: nothing that it does from then on has any effect. */
class Killed extends Error {
  override readonly name = 'Killed';
}

interface Life {
  bundler: Bundler;
  reservations: ReservationsOnChain;
  senders: SimulatedSenders;
  /** The position up to which it has taken over events. */
  taken: number;
  isRecovered: boolean;
  isKilled: boolean;
}

/** One seed: users, processes of the service that are killed, and a chain of which anything that can happen does. */
export class BundlerSimulation {
  readonly chain: SimulatedChain;
  readonly store: MemoryEventStore;
  readonly executors = EXECUTORS.map(({ address }) => address);
  readonly sends: Send[] = [];
  /** The stream of what the paymaster's app has reserved. */
  readonly sponsorship = sponsorshipStream(APP, utcDay(GENESIS_MS));
  /** All that was ever put in the paymaster's deposit. */
  depositedWei = 0n;
  private readonly clock = new TestClock(GENESIS_MS);
  private readonly random: SeededRandom;
  /** Behind what is stored, as far as it happens to be. */
  private readonly readStore = new MemoryReadStore();
  private readonly habits: Partial<NodeHabits>;
  private readonly killed: number;
  private isCalm = false;
  /** When no signature of a paymaster counts any more. */
  private expiredAt = Infinity;
  private life: Life | undefined;

  constructor(seed: number) {
    const random = new SeededRandom(seed);
    const often = (most: number) => (random.chance(0.5) ? random.next() * most : 0);
    this.random = random;
    this.store = new MemoryEventStore(this.clock);
    this.killed = often(0.03);
    this.habits = {
      ...{ unavailable: often(0.05), failsAfterSend: often(0.2), staleHead: often(0.2), staleState: often(0.1) },
      ...{
        countTooHigh: often(0.3),
        countTooLow: often(0.3),
        receiptMissing: often(0.2),
        receiptStale: often(0.5),
      },
    };
    this.chain = new SimulatedChain({
      ...CONTRACTS,
      random,
      genesisTime: GENESIS_MS / 1_000,
      losesTransactions: often(0.5),
      pool: { forgets: often(0.2), minesReplaced: often(0.3) },
      strangers: { bundle: often(0.2), deploy: often(0.05), drain: often(0.05) },
    });
    this.deposit(FOR_PAYMASTER);
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
    if (random.chance(0.04)) clock.jump(random.between(-600_000, 600_000));
    if (random.chance(0.4)) this.mine();
    if (random.chance(0.06)) this.reorganise();
    if (random.chance(0.02)) chain.pool.forgetAll();
    if (random.chance(0.1)) this.changeBalances();
    await this.work((life) => {
      const sends = random.chance(0.4) ? random.between(1, 3) : 0;
      const sending = Array.from({ length: sends }, () => this.send(life));
      return [...sending, this.follow(life), ...(random.chance(0.8) ? [this.step(life)] : [])];
    });
  }

  private async calmRound(): Promise<void> {
    const { chain, clock } = this;
    clock.time += 1_500;
    for (const owner of OWNERS) chain.sendWei(chain.entryPoint.accountOf(owner.address), FOR_ACCOUNT);
    chain.mine({ baseFeePerGas: GWEI / 10n, timestamp: chain.head.timestamp + 60 });
    await this.work((life) => [this.follow(life).then(() => this.step(life))]);
  }

  /** Runs parts of what a process does, at once; begins another process where there is none. */
  private async work(parts: (life: Life) => Promise<void>[]): Promise<void> {
    const life = (this.life ??= this.begin());
    const results = await Promise.allSettled(life.isRecovered ? parts(life) : [this.recover(life)]);
    const failed = results.find((result) => result.status === 'rejected');
    if (life.isKilled) this.life = undefined;
    else if (failed) throw failed.reason;
  }

  private begin(): Life {
    const { random, chain, clock } = this;
    const life = { isKilled: false, isRecovered: false, taken: 0 };
    const between = () => {
      if (!this.isCalm && random.chance(0.02)) this.mine();
      if (!this.isCalm && random.chance(0.006)) this.reorganise();
      this.mayKill(life);
    };
    const transactor = new Transactor(this.storeOf(life), clock, {
      uuid: () => random.hash(),
      token: (length) => random.hash().slice(2, 2 + length),
    });
    const node = new SimulatedNode(chain, random, this.isCalm ? {} : this.habits, between);
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
    return Object.assign(life, { bundler, reservations, senders });
  }

  /** A store that a process may be killed before and after each append to. */
  private storeOf(life: Pick<Life, 'isKilled'>): EventStore {
    const { store } = this;
    const append: EventStore['append'] = async (...parameters) => {
      this.mayKill(life);
      const appended = await store.append(...parameters);
      this.mayKill(life);
      return appended;
    };
    return Object.assign(Object.create(store) as EventStore, { append });
  }

  private mayKill(life: Pick<Life, 'isKilled'>): void {
    life.isKilled ||= !this.isCalm && this.random.chance(this.killed);
    if (life.isKilled) throw new Killed('the process was killed');
  }

  /** As the loop does that bundles. */
  private async recover(life: Life): Promise<void> {
    const { readStore } = this;
    for (const model of [transactionsModel, reservationsModel]) await this.project(model);
    try {
      life.taken = await recoverOperations(life, { chainId: CHAIN_ID, eventStore: this.store, readStore });
      life.isRecovered = true;
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      // The next one recovers anew.
      life.isKilled = true;
    }
  }

  private async project(model: ReadModel): Promise<void> {
    await this.readStore.define(Object.values(model.collections));
    const behind = this.isCalm ? 0 : this.random.between(0, 20);
    const { events } = await this.store.readAll(await this.readStore.position(model.name), undefined, Infinity);
    await projectInto(this.readStore, [model], events.slice(0, Math.max(0, events.length - behind)));
  }

  private async follow(life: Life): Promise<void> {
    const { events } = await this.store.readAll(life.taken, { types: FOLLOWED }, Infinity);
    for (const event of events) {
      await takeOver(life, event);
      life.taken = event.position;
    }
  }

  private async step({ bundler }: Life): Promise<void> {
    try {
      await bundler.step();
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
    }
    if (this.isCalm || this.random.chance(0.3)) {
      await this.readStore.apply(checkpointOf(CHAIN_ID), [], bundler.recordedUpTo);
    }
  }

  private async send({ senders }: Life): Promise<void> {
    try {
      await senders.send();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }

  /** Returns what is stored of a transaction. */
  async transactionOf(id: string): Promise<Transaction | undefined> {
    const events = await this.store.read(transactionStream(id));
    return foldEvents(transactionFold, undefined, events);
  }

  private get isAllOver(): boolean {
    const { life, chain } = this;
    return life?.isRecovered === true && life.bundler.pool.size === 0 && chain.head.timestamp * 1_000 > this.expiredAt;
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
    if (random.chance(1 / 3)) chain.inNextBlock((state) => state.set(named.wei(executor), GWEI));
    else chain.sendWei(executor, FOR_EXECUTOR);
    const owner = random.pick(OWNERS);
    if (owner) chain.sendWei(chain.entryPoint.accountOf(owner.address), FOR_ACCOUNT);
    if (random.chance(1 / 3)) this.deposit(FOR_PAYMASTER);
  }

  private calmDown(): void {
    const { chain } = this;
    this.isCalm = true;
    this.expiredAt = Math.max(this.clock.now(), chain.head.timestamp * 1_000) + EXPIRED_WITHIN_MS;
    this.life = undefined;
    chain.pool.habits = { forgets: 0, minesReplaced: 0 };
    chain.strangers.habits = { bundle: 0, deploy: 0, drain: 0 };
    this.deposit(FOR_PAYMASTER);
    for (const address of this.executors) chain.sendWei(address, ETHER);
  }

  private deposit(wei: bigint): void {
    this.depositedWei += wei;
    this.chain.depositWei(CONTRACTS.paymaster.address, wei);
  }
}
