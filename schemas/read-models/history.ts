import { z } from 'zod';
import { actor } from '../events/event.ts';
import { jsonValue } from '../json.ts';
import { isoTime } from '../values.ts';

/**
 * Collection `history`, by `{userId}:{sequence}`. `hash` is the lower-hex SHA-256 of the JSON of the other members as
 * they are listed here from `type` to `position`, then `previous`: the hash of the item before, 64 zeros for the first.
 */
export const historyDocument = z.object({
  userId: z.string(),
  /** From 0, gapless per user. */
  sequence: z.int().nonnegative(),
  type: z.string(),
  time: isoTime,
  actor,
  app: z.string().nullable(),
  session: z.string().nullable(),
  requestId: z.string(),
  data: z.record(z.string(), jsonValue),
  position: z.int(),
  previous: z.string(),
  hash: z.string(),
});
export type HistoryDocument = z.infer<typeof historyDocument>;

/** Collection `history-heads`, by user id: where the chain of hashes goes on. */
export const historyHeadDocument = z.object({ count: z.int(), hash: z.string() });
export type HistoryHeadDocument = z.infer<typeof historyHeadDocument>;
