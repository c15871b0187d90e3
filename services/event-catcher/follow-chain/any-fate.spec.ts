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
type Step = Happening | { kind: 'run'; appends: number; isLost: boolean; meanwhile: Happening; afterCalls: number };

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
  private taken: { forkedAt: number; giveBack: () => void } | undefined;

  constructor(isDevelopment: boolean) {
    this.isDevelopment = isDevelopment;
    this.catching = new Catching({ confirmations: CONFIRMATIONS, isDevelopment });
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
    if (step.kind !== 'run') return this.happen(step);
    const { catching } = this;
    const reader = interrupted(forgetful(catching.chain), step.afterCalls, () => this.happen(step.meanwhile));
    await catching.runUntilKilled(step.appends, step.isLost, reader);
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
const run = fc.record({
  kind: fc.constant('run' as const),
  appends: fc.integer({ min: 0, max: 8 }),
  isLost: fc.boolean(),
  meanwhile: happening,
  afterCalls: fc.integer({ min: 1, max: 12 }),
});
const step: fc.Arbitrary<Step> = fc.oneof({ weight: 1, arbitrary: happening }, { weight: 1, arbitrary: run });

describe('following a chain', () => {
  it('equals the chain after any fate: killed at any append, reorganised, away, extended', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 9 }), fc.boolean(), async (steps, isDevelopment) => {
        const fate = new Fate(isDevelopment);
        fate.mine(12);
        await fate.catching.register({ startBlock: 8 });
        for (const one of steps) await fate.live(one);
        fate.catching.start({ reader: forgetful(fate.catching.chain) });
        await fate.catching.expectChain();
        await fate.catching.stop();
      }),
      { numRuns: 60 },
    );
  });
});
