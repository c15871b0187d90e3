import { z } from 'zod';
import { sealedText } from '../../schemas/events/event.ts';
import { sessionEvents } from '../../schemas/events/session-events.ts';
import { transactionEvents } from '../../schemas/events/transaction-events.ts';
import { userEvents } from '../../schemas/events/user-events.ts';
import { exportedItem } from '../../schemas/http/history.ts';
import { NO_HASH, toHistoryLine } from './history-line.ts';
import { readModel } from './read-model.ts';

/** By `{userId}:{position}`: a line of an export, with `data` and `salt` as they are stored, and its place. */
const itemDocument = exportedItem.extend({
  userId: z.string(),
  /** From 0, gapless per user. */
  sequence: z.int().nonnegative(),
  data: z.record(z.string(), z.any()),
  salt: z.union([sealedText, z.literal(''), z.null()]),
});
export type HistoryDocument = z.infer<typeof itemDocument>;

/** By user id: how many items the user has, and the hash of the last one. */
const headDocument = z.object({ count: z.int(), hash: z.string() });
const NO_ITEM = { count: 0, hash: NO_HASH };

/** The sessions that a user began and that ended, without the refreshes between. */
const { SessionStarted, SessionRevoked } = sessionEvents;

/** Everything that happened to a user's account; the hash of each item covers the one before it. */
export const historyModel = readModel({
  name: 'history-v3',
  collections: {
    // Stored before the head, so that the head never counts an item that is missing.
    item: {
      name: 'history-v3',
      document: itemDocument,
      indexes: [
        ['userId', 'sequence'],
        ['userId', 'type', 'sequence'],
      ],
    },
    head: { name: 'history-heads-v3', document: headDocument, indexes: [] },
  },
  events: { ...userEvents, SessionStarted, SessionRevoked, ...transactionEvents },
  keepsSealed: true,
  touches: ({ data: { userId }, position }) =>
    userId === null ? {} : { item: `${userId}:${String(position)}`, head: userId },
  evolve: ({ head = NO_ITEM }, event) => {
    const { userId } = event.data;
    if (userId === null) return {};
    const line = toHistoryLine(event, head.hash);
    return {
      item: { userId, sequence: head.count, ...line },
      head: { count: head.count + 1, hash: line.hash },
    };
  },
});
