import { z } from 'zod';
import { observedRecord } from '../events/chain-events.ts';

/** Collection `chain-events`, by `Id`. */
export const chainEventDocument = observedRecord.extend({
  /** Positions of observed, reverted, observed again, … in turn: an odd count up to a position means it stood then. */
  changes: z.array(z.int()),
  /** Position of the newest observation. */
  observedPosition: z.int(),
  reverted: z.boolean(),
});
export type ChainEventDocument = z.infer<typeof chainEventDocument>;
