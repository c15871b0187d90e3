import { z } from 'zod';
import {
  backfillRange,
  backfillsOf,
  chainProgressEvents,
  chainVerificationEvents,
} from '../../schemas/events/chain-events.ts';
import { blockNumber, chainId, isoTime } from '../../schemas/values.ts';
import { toIso } from '../primitives/clock.ts';
import { readModel } from './read-model.ts';

const chainDocument = z.object({
  chainId,
  head: blockNumber,
  headTime: isoTime,
  finalized: blockNumber,
  /** Ranges still to be read. A watch that was registered up to `watchesUpTo` and has no joining range here is live. */
  backfills: z.array(backfillRange),
  /** Position up to which registrations are taken into account. */
  watchesUpTo: z.int().nonnegative(),
});
export type ChainDocument = z.infer<typeof chainDocument>;

const verificationDocument = chainVerificationEvents.ChainVerified.data.omit({ replays: true });
export type VerificationDocument = z.infer<typeof verificationDocument>;

/** How far each chain has been followed, and how far it has been verified, by decimal chain id. */
export const chainsModel = readModel({
  name: 'chains-v3',
  collections: {
    chain: { name: 'chains', document: chainDocument, indexes: [] },
    verification: { name: 'chain-verifications', document: verificationDocument, indexes: [] },
  },
  events: { ...chainProgressEvents, ...chainVerificationEvents },
  touches: ({ type, data }) => ({ [type === 'ChainAdvanced' ? 'chain' : 'verification']: String(data.chainId) }),
  evolve: (_, { type, data }) => {
    if (type === 'ChainVerified') {
      const { chainId, verified, behind, watchesUpTo } = data;
      return { verification: { chainId, verified, behind, watchesUpTo } };
    }
    const { chainId, head, finalized, window, backfills, watchesUpTo } = data;
    // Block timestamps are in seconds.
    const headTime = toIso((window.at(-1)?.timestamp ?? 0) * 1_000);
    return { chain: { chainId, head, headTime, finalized, backfills: backfillsOf(backfills), watchesUpTo } };
  },
});
