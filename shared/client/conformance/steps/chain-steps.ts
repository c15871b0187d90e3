import { z } from 'zod';
import { name, step } from './step.ts';

const values = z.array(z.int().positive()).min(1);
const DEVELOPMENT = { needsDevelopmentChain: true };

export const chainSteps = {
  /** Emits one event for each value, all in one transaction. */
  emit: step(z.strictObject({ values, as: name.optional() }), async ({ values: emitted, as }, run) => {
    const block = await run.node.chain.emit(run.contract.address, emitted);
    run.newestBlock = block;
    if (as !== undefined) run.remember(as, { block });
  }),

  /** Marks the block after which `reorganise` replaces all others. */
  snapshot: step(
    z.strictObject({}),
    async (_, run) => {
      run.snapshot = await run.node.chain.snapshot();
    },
    DEVELOPMENT,
  ),

  /** Replaces the blocks since the snapshot by more of others, with these events. */
  reorganise: step(
    z.strictObject({ emit: z.array(values).default([]) }),
    async ({ emit }, run) => {
      const { chain } = run.node;
      if (!run.snapshot) throw new Error('the step snapshot comes before reorganise');
      const head = await chain.head();
      await chain.revert(run.snapshot);
      run.snapshot = undefined;
      // A block with other contents than the one that it replaces, even if its events are the same.
      await chain.mineTo((await chain.head()) + 1);
      for (const emitted of emit) run.newestBlock = await chain.emit(run.contract.address, emitted);
      await chain.mineTo(head + 1);
    },
    DEVELOPMENT,
  ),

  /** Mines blocks until every event that was emitted is final. */
  finalize: step(
    z.strictObject({}),
    async (_, run) => {
      await run.node.chain.finalize(run.newestBlock);
    },
    DEVELOPMENT,
  ),
};
