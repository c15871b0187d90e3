import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, it } from '@jest/globals';
import fc from 'fast-check';
import { forgetful, interrupted } from '../testing/awkward-readers.ts';
import { approvalWatch, Catching, mineSome, otherContract, transferWatch } from '../testing/catching.ts';

const CONFIRMATIONS = 5;
/** More than the follower walks to block by block. */
const LONG_BLOCKS = 520;

type Happening =
  | { kind: 'mine'; blocks: number }
  | { kind: 'reorganise'; depth: number; blocks: number }
  | { kind: 'give back' }
  | { kind: 'register'; what: keyof typeof watches; startBlock: number }
  | { kind: 'extend'; what: keyof typeof watches; by: number };
type Run = { appends: number; meanwhile: Happening; afterCalls: number };
type Step =
  | Happening
  | ({ kind: 'run'; isLost: boolean } & Run)
  /** Another takes over while an append is under way, which arrives before the append of others that comes after so many. */
  | ({ kind: 'be cut off'; arrivesAfter: number } & Run);

const watches = {
  approval: approvalWatch,
  other: { ...transferWatch, watchId: 'wch_other', contractAddress: otherContract },
  transfer: transferWatch,
};

/** One life of a follower: what may happen to it, never deeper than finality. */
class Fate {
  readonly catching: Catching;
  private readonly isDevelopment: boolean;
  private value = 1_000;
  private highest = 0;
  private late: { arrivesAfter: number; arrive: () => Promise<void> }[] = [];
  private readonly ended: Promise<void>[] = [];
  private taken: { forkedAt: number; giveBack: () => void } | undefined;

  constructor(isDevelopment: boolean, rangesMax: number) {
    this.isDevelopment = isDevelopment;
    this.catching = new Catching({ confirmations: CONFIRMATIONS, isDevelopment, rangesMax });
    const { store } = this.catching;
    const append = store.append.bind(store);
    store.append = async (...args) => {
      for (const one of this.late) one.arrivesAfter -= 1;
      await this.arrive(({ arrivesAfter }) => arrivesAfter < 0);
      return append(...args);
    };
  }

  async happen(happening: Happening): Promise<void> {
    const { chain, registered } = this.catching;
    switch (happening.kind) {
      case 'mine': {
        this.mine(happening.blocks);
        return;
      }
      case 'reorganise': {
        const depth = Math.min(happening.depth, chain.tip.number - this.highest + CONFIRMATIONS);
        if (depth <= 0) return;
        this.taken = { giveBack: chain.takeBack(depth), forkedAt: chain.tip.number };
        this.mine(Math.max(happening.blocks, this.isDevelopment ? 0 : 1));
        return;
      }
      case 'give back':
        if (!this.taken || this.taken.forkedAt < this.highest - CONFIRMATIONS) return;
        this.taken.giveBack();
        this.taken = undefined;
        {
          this.mine(1);
          return;
        }
      case 'register': {
        const watch = watches[happening.what];
        const startBlock = Math.min(happening.startBlock, chain.tip.number);
        if (!registered.has(watch.watchId)) await this.catching.register({ ...watch, startBlock });
        return;
      }
      case 'extend': {
        const { watchId } = watches[happening.what];
        const watch = registered.get(watchId);
        if (watch && watch.startBlock > 0)
          await this.catching.extend(Math.max(0, watch.startBlock - happening.by), watchId);
      }
    }
  }

  async live(step: Step): Promise<void> {
    if (step.kind !== 'run' && step.kind !== 'be cut off') return this.happen(step);
    const { catching } = this;
    const reader = interrupted(forgetful(catching.chain), step.afterCalls, () => this.happen(step.meanwhile));
    if (step.kind === 'run') return catching.runUntilKilled(step.appends, step.isLost, reader);
    const arrive = await catching.runUntilCutOff(step.appends, reader);
    this.late.push({ arrivesAfter: step.arrivesAfter, arrive });
  }

  /** Everything that is still under way arrives. @returns when those who sent it have ended */
  async everythingArrives(): Promise<void> {
    await this.arrive(() => true);
    await Promise.all(this.ended);
  }

  private async arrive(isDue: (late: { arrivesAfter: number }) => boolean): Promise<void> {
    const due = this.late.filter(isDue);
    this.late = this.late.filter((one) => !due.includes(one));
    for (const { arrive } of due) this.ended.push(arrive());
    // What is let arrive is stored, or refused, in this turn.
    if (due.length > 0) await nextTurn();
  }

  mine(blocks: number): void {
    this.value += 10_000;
    mineSome(this.catching.chain, blocks, this.value);
    this.highest = Math.max(this.highest, this.catching.chain.tip.number);
  }
}

const what = fc.constantFrom('approval' as const, 'other' as const, 'transfer' as const);
const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ kind: fc.constant('mine' as const), blocks: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ kind: fc.constant('mine' as const), blocks: fc.constant(LONG_BLOCKS) }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('reorganise' as const),
      depth: fc.integer({ min: 1, max: CONFIRMATIONS }),
      blocks: fc.integer({ min: 0, max: 7 }),
    }),
  },
  fc.record({ kind: fc.constant('give back' as const) }),
  fc.record({ kind: fc.constant('register' as const), what, startBlock: fc.integer({ min: 0, max: 30 }) }),
  fc.record({ kind: fc.constant('extend' as const), what, by: fc.integer({ min: 1, max: 12 }) }),
);
const run = {
  appends: fc.integer({ min: 0, max: 10 }),
  meanwhile: happening,
  afterCalls: fc.integer({ min: 1, max: 12 }),
};
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: happening },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('run' as const), isLost: fc.boolean(), ...run }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('be cut off' as const),
      arrivesAfter: fc.integer({ min: 0, max: 10 }),
      ...run,
    }),
  },
);
const steps = fc.array(step, { minLength: 1, maxLength: 9 });
/** With so few, registrations wait for each other. */
const rangesMax = fc.constantFrom(1, 2, 1_000);

describe('following a chain', () => {
  it('equals the chain after any fate: killed or cut off at any append, reorganised, away, extended', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), rangesMax, async (steps, isDevelopment, rangesMax) => {
        const fate = new Fate(isDevelopment, rangesMax);
        fate.mine(12);
        await fate.catching.register({ startBlock: 8 });
        for (const one of steps) await fate.live(one);
        fate.catching.start({ reader: forgetful(fate.catching.chain) });
        await fate.catching.expectChain();
        await fate.everythingArrives();
        fate.mine(1);
        await fate.catching.expectChain();
        await fate.catching.stop();
      }),
      { numRuns: 80 },
    );
  });
});
