import { describe, it } from '@jest/globals';
import fc from 'fast-check';
import { ModelledChain, WATCHES, type WatchId } from '../testing/modelled-chain/modelled-chain.ts';

type Step = (chain: ModelledChain, watch: WatchId, block: number, count: number) => void;

/** The steps of a chain and of its follower, including impossible ones: a transition that does not apply is refused. */
const steps = {
  mine: (chain, _watch, _block, count) => chain.mine(count),
  reorganise: (chain, _watch, _block, count) => chain.reorganise(count),
  replaceChain: (chain) => chain.replaceChain(),
  register: (chain, watch, block) => chain.register(watch, block),
  addNext: (chain) => chain.addNext(),
  addAgain: (chain, watch, _block, count) => chain.addAgain(watch, count > 2),
  walk: (chain) => chain.walk(),
  advanceBy: (chain, _watch, block) => chain.advanceBy(block),
  rewindTo: (chain, _watch, block) => chain.rewindTo(block),
  skipAhead: (chain) => chain.skipAhead(),
  cover: (chain, watch, block, count) => chain.cover(watch, block, count - 1),
  coverNext: (chain, _watch, block, count) => chain.coverNext(block, count),
  finishRange: (chain, _watch, block) => chain.finishRange(block),
  moveStart: (chain, watch, block) => chain.moveStart(watch, block),
  leaveGap: (chain, _watch, block, count) => chain.leaveGap(block, count),
  giveUpFinal: (chain, _watch, _block, count) => chain.giveUpFinal(count),
  stop: (chain, watch) => chain.stop(watch),
  defer: (chain, watch) => chain.defer(watch),
  resumeDeferred: (chain, watch) => chain.resumeDeferred(watch),
  fallBehind: (chain, watch) => chain.fallBehind(watch),
  storeProgress: (chain) => chain.storeProgress(),
  finish: (chain) => chain.finish(),
} satisfies Record<string, Step>;

const sequences = fc.array(
  fc.tuple(
    fc.constantFrom(...(Object.keys(steps) as (keyof typeof steps)[])),
    fc.constantFrom(...WATCHES),
    fc.nat({ max: 9 }),
    fc.integer({ min: 1, max: 5 }),
  ),
  { maxLength: 16, size: 'max' },
);

describe('the progress of a chain', () => {
  it('claims exactly the records that are stored, after any sequence of steps, and can always be finished', () => {
    fc.assert(
      fc.property(fc.noBias(sequences), (sequence) => {
        const chain = new ModelledChain();
        for (const [step, ...values] of sequence) {
          steps[step](chain, ...values);
          if (chain.fault) throw new Error(chain.fault);
        }
        chain.finish();
        if (chain.fault ?? !chain.isFinished)
          throw new Error(chain.fault ?? 'something is left that cannot be finished');
      }),
      { numRuns: 10_000 },
    );
  });
});
