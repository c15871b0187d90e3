import { z } from 'zod';
import { event, type EventOf } from '../event.ts';

export const LOG_STREAM = 'log';

/** Stream `log`: what the transparency log says about itself. */
export const logEvents = {
  /** Stored once, before the first checkpoint. `publicKey`: Ed25519, 32 bytes in base64; no other key signs checkpoints. */
  LogKeyMade: event(1, z.object({ publicKey: z.base64() })),
  /**
   * `root`, in base64: of a Merkle tree over the histories of all users as they were at the event that `causationId` names.
   * A leaf is `{user, items, hash}`: the SHA-256 of the user id, in lower-case hex, by which leaves are sorted, the number of
   * items of the history, and the hash of the newest.
   */
  HistoriesSealed: event(1, z.object({ users: z.int().nonnegative(), root: z.base64() })),
};
export type LogEvent = EventOf<typeof logEvents>;
