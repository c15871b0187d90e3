import type { WatchEvent } from '../../../../schemas/events/event-catcher/watch-events.ts';
import type { ChainEvent } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { untilAborted } from '../../../../shared/primitives/waiting/until-aborted.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { acceptanceStream } from '../../domain/window/acceptance.ts';
import { CatcherFaults } from './catcher-faults.ts';
import { CatcherInvariants } from './catcher-invariants.ts';
import { CatcherOutcome } from './catcher-outcome.ts';
import { projectedRecords } from '../projected-records.ts';
import { SimulatedApps } from './simulated-apps.ts';
import { newestOf } from '../../../../shared/testing/chain/forking-chain.ts';
import { SimulatedChain, type Branch, type LogToMine } from '../../../../shared/testing/chain/simulated-chain.ts';
import { SimulatedEndpoint } from '../simulated-chain/simulated-endpoint.ts';
import { inSimulation } from '../../../../shared/testing/simulation/simulated-globals.ts';
import { randomNature, type CatcherNature } from '../simulated-chain/simulated-nature.ts';
import { SimulatedProcess } from './simulated-process.ts';
import { CHAIN_ID, randomLogs } from './simulated-records.ts';
import { SimulatedStore } from './simulated-store.ts';
import { SimulatedTime } from '../../../../shared/testing/simulation/simulated-time.ts';

const GENESIS_MS = Date.parse('2026-01-02T03:00:00.000Z');
const FIRST_BLOCKS = 30;
const ROUNDS = 14;
const ROUND_MS = 5_000;
const FORK_MOST = 64;
/** The longest time until the next process starts after a kill. */
const AWAY_MS = 8_000;
/** More blocks than one advance walks. */
const MANY_BLOCKS = 520;
const JUMP_MS = 600_000;
/** The finalized block is requested once per this many blocks. */
const ASKED_EVERY = 16;
/** By then all is right once nothing goes wrong any more: beside a silent endpoint each range is verified 15 s later. */
const CALM_MS = 7_200_000;
const LOOK_MS = 1_000;
const BLOCK_MS = 20_000;

/** One seed: processes that are killed, and a chain and providers to which anything can happen. */
export class CatcherSimulation {
  private readonly random: SeededRandom;
  private readonly time = new SimulatedTime(GENESIS_MS);
  private readonly nature: CatcherNature;
  private readonly chain: SimulatedChain;
  private readonly invariants: CatcherInvariants;
  private readonly store: SimulatedStore;
  private readonly readStore: ReadStore;
  private readonly apps: SimulatedApps;
  private readonly outcome: CatcherOutcome;
  private readonly endpoints: readonly SimulatedEndpoint[];
  /** All processes that there ever were. */
  private readonly processes: SimulatedProcess[] = [];
  private readonly living = new Set<SimulatedProcess>();
  private isCalm = false;
  private readonly acceptances: string[] = [];
  private announcedAtMs = -Infinity;
  /** The branch that left the chain last, and may return. */
  private former: { branch: Branch; forkedAt: number } | undefined;

  constructor(
    seed: number,
    private readonly faults = new CatcherFaults(),
    natureOf = randomNature,
  ) {
    const [random, { time }] = [new SeededRandom(seed), this];
    this.random = random;
    this.nature = natureOf(random);
    const { finalDepth, endpoints, losesAnswers, readStoreAway } = this.nature;
    this.chain = new SimulatedChain({
      ...{ chainId: CHAIN_ID, finalDepth, announced: () => this.announcedFalsely() },
      ...{ hash: () => random.hash(), time: () => Math.floor(time.real() / 1_000) },
    });
    this.invariants = new CatcherInvariants(this.chain, this.nature);
    const world = { random, time, faults, chain: this.chain };
    this.store = new SimulatedStore(world, (_stream, events, { position }) => {
      const first = position - events.length + 1;
      for (const [at, event] of events.entries())
        this.invariants.take(event as unknown as ChainEvent | WatchEvent, first + at);
    });
    this.store.losesAnswers = losesAnswers;
    const isAway = () => {
      const isAwayNow = !this.isCalm && random.chance(readStoreAway);
      if (isAwayNow) faults.count('the read store is away');
      return isAwayNow;
    };
    this.readStore = projectedRecords(this.store, { random, isAway });
    this.apps = new SimulatedApps(world, this.store);
    this.outcome = new CatcherOutcome(this.nature, this.chain, this.invariants, this.apps, this.store);
    this.endpoints = endpoints.map((nature) => new SimulatedEndpoint(this.chain, world, nature));
  }

  /** @returns what is wrong afterwards, as sentences */
  run(): Promise<string[]> {
    const { time, random } = this;
    const fetch = (url: string, { body, signal }: { body: string; signal: AbortSignal }) =>
      this.fetch(url, body, signal);
    return inSimulation(
      { time, random: () => random.next(), fetch: fetch as unknown as typeof globalThis.fetch },
      async () => {
        this.mine(FIRST_BLOCKS + this.nature.finalDepth);
        await this.apps.register();
        this.begin();
        for (let round = 0; round < ROUNDS; round += 1) await this.round(round);
        await this.calmDown();
        const { violations } = this.invariants;
        return violations.length > 0 ? violations.slice(0, 10) : this.outcome.differences();
      },
    );
  }

  private async round(round: number): Promise<void> {
    const { random, time, apps } = this;
    if (round === this.nature.givesUp?.round) this.giveUpFinal(this.nature.givesUp.blocks);
    await time.pause(random.between(0, ROUND_MS));
    if (random.chance(0.7)) this.mine(random.between(1, 4));
    if (random.chance(0.004)) this.mineMany();
    if (random.chance(0.15)) this.reorganise();
    if (random.chance(0.03)) this.restore();
    if (random.chance(0.3)) await this.acceptIfAsked();
    if (random.chance(0.2)) await apps.register();
    if (random.chance(0.25)) await apps.change();
    if (random.chance(0.04)) this.setClock(random.between(-JUMP_MS, JUMP_MS));
    if (random.chance(0.02)) this.begin();
    if (random.chance(0.02)) this.replaceFirst();
  }

  /** Starts a process, unless there are two. */
  private begin(): void {
    const { nature, store, readStore, endpoints, random, faults, time } = this;
    if (this.living.size > 1) return;
    if (this.living.size === 1) faults.count('another process stands by');
    const isKilledNow = () => !this.isCalm && random.chance(nature.killed);
    const announcedAgoMs = () => time.elapsed() - this.announcedAtMs;
    const world = { settings: nature.settings, store, readStore, endpoints, isKilledNow, announcedAgoMs };
    const process: SimulatedProcess = new SimulatedProcess(world, this.processes.length, () => {
      faults.count('a process is killed');
      this.living.delete(process);
      time.after(random.between(0, AWAY_MS), () => {
        this.begin();
      });
    });
    this.processes.push(process);
    this.living.add(process);
    process.start();
  }

  private replaceFirst(): void {
    const [first] = this.living;
    if (!first) return;
    this.faults.count('a process stops, and another one goes on');
    this.living.delete(first);
    void first.stop();
    this.begin();
  }

  private fetch(url: string, body: string, signal: AbortSignal): Promise<Response> {
    const [, process, endpoint] = /(\d+)\.(\d+)\.test/.exec(url) ?? [];
    const answer = this.processes[Number(process)]?.fetch(Number(endpoint), body);
    return answer ? untilAborted(answer, signal) : Promise.reject(new TypeError('fetch failed'));
  }

  private mine(blocks: number): void {
    for (let left = blocks; left > 0; left -= 1) this.chain.extend(randomLogs(this.random, this.nature.logsMost));
    this.announce();
  }

  private announcedFalsely(): LogToMine[] {
    const { random, nature, faults } = this;
    if (!random.chance(nature.overstates)) return [];
    faults.count('a bloom announces logs that are not there');
    return randomLogs(random);
  }

  private mineEmpty(blocks: number): void {
    for (let left = blocks; left > 0; left -= 1) this.chain.extend([]);
  }

  private mineMany(): void {
    this.faults.count('many blocks come at once');
    this.mineEmpty(MANY_BLOCKS + this.nature.finalDepth);
    this.mine(1);
  }

  private announce(): void {
    const { random, nature, time } = this;
    if (!random.chance(nature.announces)) return;
    this.announcedAtMs = time.elapsed();
    for (const { announced } of this.living) announced.ring();
  }

  /** Replaces the newest blocks by another branch. */
  private reorganise(): void {
    const { random, chain, faults, nature } = this;
    const { isDevelopment } = nature.settings;
    const startsAgain = isDevelopment && random.chance(0.2);
    if (startsAgain) faults.count('a development chain starts again');
    const most = startsAgain ? chain.tip.number : Math.min(FORK_MOST, chain.tip.number - chain.finalNumber);
    if (most < 1) return;
    const depth = random.chance(0.3) ? most : random.between(1, most);
    faults.count(
      depth === 1 ? 'a fork of one block' : depth < FORK_MOST ? 'a fork of up to 63 blocks' : 'a fork of 64 blocks',
    );
    this.replaceNewest(depth, random.between(isDevelopment ? 0 : 1, depth + 2));
    if (startsAgain) {
      chain.startAgain();
      this.invariants.startAgain();
    }
    this.announce();
  }

  /** Removes final blocks, and all after them, from the chain. */
  private giveUpFinal(blocks: number): void {
    const { chain } = this;
    const depth = Math.min(chain.tip.number, chain.tip.number - chain.finalNumber + blocks);
    this.faults.count('the chain gives up final blocks');
    this.invariants.startAgain();
    this.replaceNewest(depth, depth + 1);
    this.announce();
  }

  /** The operator does what the status asks for on a chain that gave up final blocks. */
  private async acceptIfAsked(): Promise<void> {
    const { store, invariants, acceptances } = this;
    const [final] = invariants.progress?.window ?? [];
    const isAsked = [...this.living].some((process) => process.errorOf('')?.includes('annals chain accept'));
    const from = invariants.isAnchored ? {} : { fromBlock: 0 };
    const accepted = `${final?.hash ?? ''} ${JSON.stringify(from)}`;
    if (!isAsked || !final || acceptances.includes(accepted)) return;
    this.faults.count('the operator accepts that final blocks are gone');
    const { number, hash } = final;
    const given = [anEvent({ type: 'FinalBlockGivenUp', data: { chainId: CHAIN_ID, number, hash, ...from } })];
    await store.append(acceptanceStream(CHAIN_ID), acceptances.length - 1, given);
    acceptances.push(accepted);
  }

  /** @param depth number of blocks that leave the chain. @param blocks number of blocks that replace them */
  private replaceNewest(depth: number, blocks: number): void {
    const { random, chain, nature } = this;
    const before = chain.canonical;
    const branch = before.slice(0, before.length - depth);
    const forkedAt = branch.length - 1;
    for (let left = blocks; left > 0; left -= 1)
      branch.push(chain.childOf(newestOf(branch), randomLogs(random, nature.logsMost)));
    chain.become(branch);
    this.former = { branch: before, forkedAt };
    for (const endpoint of this.endpoints) endpoint.reorganised(before);
  }

  /** Returns to the branch that left the chain. */
  private restore(): void {
    const { former, chain, random } = this;
    if (!former || former.forkedAt < chain.finalNumber) return;
    this.faults.count('a branch returns');
    const { logsMost } = this.nature;
    chain.become([...former.branch, chain.childOf(newestOf(former.branch), randomLogs(random, logsMost))]);
    this.former = undefined;
    this.announce();
  }

  private setClock(ms: number): void {
    this.faults.count(ms > 0 ? 'the clock is set forward' : 'the clock is set back');
    this.time.jump(ms);
  }

  /** Ends all faults, except those that an endpoint keeps beside an honest one. */
  private async calmDown(): Promise<void> {
    const { store, apps, endpoints } = this;
    this.isCalm = true;
    store.losesAnswers = 0;
    for (const endpoint of endpoints) endpoint.calmDown();
    await apps.readAllAgain();
    if (this.living.size === 0) this.begin();
    const { number } = this.chain.tip;
    this.mineEmpty(this.nature.finalDepth + ASKED_EVERY + 1);
    await this.untilDone(number);
    this.mine(1);
    await this.untilDone(number);
    for (const process of this.living) await process.stop();
  }

  /** @param finalNumber the newest block that must be final and verified then */
  private async untilDone(finalNumber: number): Promise<void> {
    const { time, invariants } = this;
    const giveUpAtMs = time.elapsed() + (this.nature.mayBeMissing ? CALM_MS / 4 : CALM_MS);
    let minedAtMs = time.elapsed();
    for (let left = this.outcome.left(finalNumber); left !== undefined; left = this.outcome.left(finalNumber)) {
      if (time.elapsed() > giveUpAtMs) {
        this.outcome.tell((watchId) => [...this.living].some((process) => process.errorOf(watchId) !== null));
        if (!this.nature.mayBeMissing) invariants.violations.push(`two hours later ${left}`);
        return;
      }
      await time.pause(LOOK_MS);
      await this.acceptIfAsked();
      if (time.elapsed() < minedAtMs + BLOCK_MS) continue;
      minedAtMs = time.elapsed();
      this.mineEmpty(1);
    }
  }
}
