import { z } from 'zod';
import {
  asideEvents,
  backfillRange,
  chainProgressEvents,
  chainVerificationEvents,
} from '../../../schemas/events/event-catcher/chain-events.ts';
import { blockNumber, chainId, isoTime } from '../../../schemas/values.ts';
import { toIso } from '../../primitives/clock.ts';
import { readModel } from '../read-model.ts';

const chainDocument = z.object({
  chainId,
  head: blockNumber,
  headTime: isoTime,
  finalized: blockNumber,
  /** Ranges still to be read. A watch that was registered up to `watchesUpTo` and has no joining range here is live. */
  backfills: z.array(backfillRange),
  /** Position up to which registrations are taken into account. */
  watchesUpTo: z.int().nonnegative(),
  /** Position up to which `RangesSetAside` events are taken into account. */
  position: z.int().nonnegative(),
});
export type ChainDocument = z.infer<typeof chainDocument>;

const asideDocument = z.object({
  /** The ranges of a watch that were last deferred. */
  ranges: asideEvents.RangesSetAside.data.shape.ranges,
  /** Position at which the ranges returned to the progress; `null` while they are deferred. */
  takenUp: z.int().nullable(),
});
export type AsideDocument = z.infer<typeof asideDocument>;

const verificationDocument = chainVerificationEvents.ChainVerified.data.omit({ replays: true });
export type VerificationDocument = z.infer<typeof verificationDocument>;

/** How far each chain has been followed and verified, by decimal chain id; deferred ranges, by watch. */
export const chainsModel = readModel({
  name: 'chains-v5',
  collections: {
    // Stored before a progress that lacks the ranges.
    aside: { name: 'chain-asides-v2', document: asideDocument, indexes: [] },
    chain: { name: 'chains-v3', document: chainDocument, indexes: [] },
    verification: { name: 'chain-verifications-v2', document: verificationDocument, indexes: [] },
  },
  events: { ...chainProgressEvents, ...chainVerificationEvents, ...asideEvents },
  touches: ({ type, data }) =>
    type === 'RangesSetAside'
      ? { aside: data.watchId }
      : { [type === 'ChainAdvanced' ? 'chain' : 'verification']: String(data.chainId) },
  evolve: ({ aside }, { type, data, position }) => {
    if (type === 'RangesSetAside') {
      const { ranges } = data;
      return {
        aside: ranges.length > 0 ? { ranges, takenUp: null } : { ranges: aside?.ranges ?? [], takenUp: position },
      };
    }
    if (type === 'ChainVerified') {
      const { replays: _replays, ...verification } = data;
      return { verification };
    }
    const { chainId, head, finalized, window, backfills, watchesUpTo, repeats = position } = data;
    // Block timestamps are in seconds.
    const headTime = toIso((window.at(-1)?.timestamp ?? 0) * 1_000);
    return {
      chain: { chainId, head, headTime, finalized, backfills, watchesUpTo, position: repeats },
    };
  },
});
