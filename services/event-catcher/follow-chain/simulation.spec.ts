import { setImmediate as afterImmediates } from 'node:timers/promises';
import { describe, it } from '@jest/globals';
import fc from 'fast-check';
import type { ChainReader } from '../../../shared/chain/chain-reader.ts';
import { canonicalOnly, interrupted, withholding, type Withholding } from '../testing/faulty-readers.ts';
import { anonymousWatch, approvalWatch, transferWatch, wrongWatch } from '../testing/example-watches.ts';
import { contract, FollowerUnderTest, mineSome, otherContract } from '../testing/follower-under-test.ts';

const CONFIRMATIONS = 5;
const FINALIZED_DEPTH_MAX = 64;
/** The follower asks for the finalized block once in so many blocks. */
const FINALIZED_ASKED_EVERY = 16;
/** More blocks than the follower walks one by one in one go. */
const LONG_BLOCKS = 520;

type ChainStep =
  | { kind: 'mine'; blocks: number }
  | { kind: 'reorganise'; depth: number; blocks: number }
  | { kind: 'restore' }
  | { kind: 'register'; what: keyof typeof watches; startBlock: number }
  | { kind: 'extend'; what: keyof typeof watches; by: number }
  | { kind: 'stop'; what: keyof typeof watches; how: 'pause' | 'remove' }
  | { kind: 'read again'; what: keyof typeof watches }
  | { kind: 'replay'; what: keyof typeof watches; blocks: number }
  /** The provider answers no logs to so many questions. */
  | { kind: 'withhold'; answers: number };
type Run = { appends: number; meanwhile: ChainStep; afterCalls: number };
type Step =
  | ChainStep
  | ({ kind: 'run'; isLost: boolean } & Run)
  /**
   * Another follower takes over while an append is in flight. That append is released after this many appends of
   * others.
   */
  | ({ kind: 'be cut off'; releasedAfter: number } & Run);

const watches = {
  approval: approvalWatch,
  transfer: transferWatch,
  wrong: wrongWatch,
  anonymous: anonymousWatch,
  elsewhere: { ...transferWatch, watchId: 'wch_elsewhere', contractAddress: otherContract },
  'anonymous elsewhere': { ...anonymousWatch, watchId: 'wch_anonymous_elsewhere', contractAddress: otherContract },
};

/** A chain, and followers that replace one another. Its reorganisations are never deeper than finality. */
class Simulation {
  readonly follower: FollowerUnderTest;
  private readonly withheld: Withholding;
  /** Whether records may come later than those of later blocks, because they were withheld. */
  private isWithheld = false;
  private readonly finalDepth: number;
  private value = 1_000;
  private highest = 0;
  private inFlight: { releasedAfter: number; release: () => Promise<void> }[] = [];
  private readonly ended: Promise<void>[] = [];
  private reverted: { forkedAt: number; restore: () => void } | undefined;

  constructor(
    private readonly isDevelopment: boolean,
    rangesMax: number,
    /** Of the chain's finalized block, if it has one. A development chain goes by depth all the same. */
    finalizedDepth: number | undefined,
    has: Withholding['has'],
  ) {
    this.follower = new FollowerUnderTest({ confirmations: CONFIRMATIONS, isDevelopment, rangesMax });
    this.follower.verifiedEveryMs = 1;
    this.withheld = { left: 0, has };
    this.finalDepth = isDevelopment ? CONFIRMATIONS : (finalizedDepth ?? CONFIRMATIONS);
    const { store, chain } = this.follower;
    chain.finalizedDepth = finalizedDepth;
    const append = store.append.bind(store);
    store.append = async (...args) => {
      for (const one of this.inFlight) one.releasedAfter -= 1;
      await this.release(({ releasedAfter }) => releasedAfter < 0);
      return append(...args);
    };
  }

  async change(step: ChainStep): Promise<void> {
    const { chain, registered } = this.follower;
    switch (step.kind) {
      case 'mine':
        this.mine(step.blocks);
        return;
      case 'reorganise': {
        const depth = Math.min(step.depth, chain.tip.number, chain.tip.number - this.highest + this.finalDepth);
        if (depth <= 0) return;
        this.reverted = { restore: chain.rollBack(depth), forkedAt: chain.tip.number };
        this.mine(Math.max(step.blocks, this.isDevelopment ? 0 : 1));
        return;
      }
      case 'restore':
        if (!this.reverted || this.reverted.forkedAt < this.highest - this.finalDepth) return;
        this.reverted.restore();
        this.reverted = undefined;
        this.mine(1);
        return;
      case 'register': {
        const watch = watches[step.what];
        const startBlock = Math.min(step.startBlock, chain.tip.number);
        if (!registered.has(watch.watchId)) await this.follower.register({ ...watch, startBlock });
        return;
      }
      case 'extend': {
        const { watchId } = watches[step.what];
        const watch = registered.get(watchId);
        if (watch && watch.startBlock > 0) await this.follower.extend(Math.max(0, watch.startBlock - step.by), watchId);
        return;
      }
      case 'stop': {
        const watch = registered.get(watches[step.what].watchId);
        if (watch && !watch.stopped) await this.follower.stopWatch(watch.watchId, step.how);
        return;
      }
      case 'read again': {
        const { watchId } = watches[step.what];
        if (registered.get(watchId)?.stopped) await this.follower.readAgain(watchId);
        return;
      }
      case 'replay': {
        const watch = registered.get(watches[step.what].watchId);
        const to = chain.tip.number - this.finalDepth;
        if (watch && watch.startBlock <= to)
          await this.follower.replay(Math.max(watch.startBlock, to - step.blocks), to, watch.watchId);
        return;
      }
      case 'withhold':
        this.withheld.left = step.answers;
        this.isWithheld = true;
    }
  }

  get reader(): ChainReader {
    return withholding(canonicalOnly(this.follower.chain), this.withheld);
  }

  /** Every provider answers honestly again. What was withheld is stored as soon as its blocks are final. */
  async expectChain(): Promise<void> {
    if (!this.isWithheld) return this.follower.expectChain();
    this.withheld.left = 0;
    this.mine(this.finalDepth + FINALIZED_ASKED_EVERY);
    await this.follower.verified();
    await this.follower.expectChain({ isOrdered: false });
  }

  async run(step: Step): Promise<void> {
    if (step.kind !== 'run' && step.kind !== 'be cut off') return this.change(step);
    const { follower } = this;
    const reader = interrupted(this.reader, step.afterCalls, () => this.change(step.meanwhile));
    if (step.kind === 'run') return follower.runUntilKilled(step.appends, step.isLost, reader);
    const release = await follower.runUntilCutOff(step.appends, reader);
    this.inFlight.push({ releasedAfter: step.releasedAfter, release });
  }

  async readAllAgain(): Promise<void> {
    for (const [watchId, { stopped }] of this.follower.registered) if (stopped) await this.follower.readAgain(watchId);
  }

  /** Releases all appends that are still in flight, and waits until the followers that sent them have ended. */
  async releaseAll(): Promise<void> {
    await this.release(() => true);
    await Promise.all(this.ended);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = this.follower.stop();
    await this.releaseAll();
    await stopped;
  }

  private async release(isDue: (one: { releasedAfter: number }) => boolean): Promise<void> {
    const due = this.inFlight.filter(isDue);
    this.inFlight = this.inFlight.filter((one) => !due.includes(one));
    for (const { release } of due) this.ended.push(release());
    // Before this returns, the released appends have been stored or refused.
    if (due.length > 0) await afterImmediates();
  }

  mine(blocks: number): void {
    this.value += 10_000;
    mineSome(this.follower.chain, blocks, this.value, [contract, otherContract]);
    this.highest = Math.max(this.highest, this.follower.chain.tip.number);
  }
}

const what = fc.constantFrom(...(Object.keys(watches) as (keyof typeof watches)[]));
const chainStep: fc.Arbitrary<ChainStep> = fc.oneof(
  fc.record({ kind: fc.constant('mine' as const), blocks: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ kind: fc.constant('mine' as const), blocks: fc.constant(LONG_BLOCKS) }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('reorganise' as const),
      depth: fc.integer({ min: 1, max: FINALIZED_DEPTH_MAX }),
      blocks: fc.integer({ min: 0, max: 7 }),
    }),
  },
  fc.record({ kind: fc.constant('restore' as const) }),
  fc.record({ kind: fc.constant('register' as const), what, startBlock: fc.integer({ min: 0, max: 30 }) }),
  fc.record({ kind: fc.constant('extend' as const), what, by: fc.integer({ min: 1, max: 12 }) }),
  fc.record({ kind: fc.constant('stop' as const), what, how: fc.constantFrom('pause' as const, 'remove' as const) }),
  fc.record({ kind: fc.constant('read again' as const), what }),
  fc.record({ kind: fc.constant('replay' as const), what, blocks: fc.integer({ min: 0, max: 40 }) }),
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('withhold' as const), answers: fc.integer({ min: 1, max: 12 }) }),
  },
);
const run = {
  appends: fc.integer({ min: 0, max: 10 }),
  meanwhile: chainStep,
  afterCalls: fc.integer({ min: 1, max: 12 }),
};
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: chainStep },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('run' as const), isLost: fc.boolean(), ...run }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('be cut off' as const),
      releasedAfter: fc.integer({ min: 0, max: 10 }),
      ...run,
    }),
  },
);
const steps = fc.array(step, { minLength: 1, maxLength: 9 });
/** With a low limit, registrations wait for one another. */
const rangesMax = fc.constantFrom(1, 2, 1_000);
const has = fc.constantFrom('blooms' as const, 'another' as const);
const finalizedDepth = fc.constantFrom(undefined, undefined, 1, 3, FINALIZED_DEPTH_MAX);

describe('following a chain', () => {
  it('stores exactly what the chain has through kills, cut-off appends, reorganisations, extensions, pauses and withheld logs', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), rangesMax, finalizedDepth, has, async (steps, isDevelopment, ...chain) => {
        await using simulation = new Simulation(isDevelopment, ...chain);
        simulation.mine(12);
        await simulation.follower.register({ startBlock: 8 });
        for (const one of steps) await simulation.run(one);
        simulation.follower.start({ reader: simulation.reader });
        await simulation.follower.caughtUp();
        await simulation.readAllAgain();
        await simulation.expectChain();
        await simulation.releaseAll();
        simulation.mine(1);
        await simulation.expectChain();
        await simulation.follower.verified();
      }),
      // A failure is told with its seed and its steps before jest gives up. It is not shrunk, as each try takes seconds.
      { numRuns: 80, endOnFailure: true, interruptAfterTimeLimit: 80_000, markInterruptAsFailure: true },
    );
  });
});
