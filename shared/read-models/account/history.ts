import { z } from 'zod';
import { sealedText } from '../../../schemas/events/event.ts';
import { sessionEvents } from '../../../schemas/events/account/session-events.ts';
import { transactionEvents } from '../../../schemas/events/onchain/transaction-events.ts';
import { userEvents } from '../../../schemas/events/account/user-events.ts';
import { historyLine } from '../../../schemas/http/account/history.ts';
import { NO_HASH, toHistoryLine } from './history-line.ts';
import { readModel } from '../read-model.ts';

/** By `{userId}:{position}`: a line of the history with its sequence number, and `data` and `salt` as stored. */
const itemDocument = historyLine.extend({
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

/** The starts and ends of a user's sessions, without the refreshes between. */
const { SessionStarted, SessionRevoked } = sessionEvents;

/** All events of a user's account. The hash of each item covers the item before it. */
export const historyModel = readModel({
  name: 'history-v4',
  collections: {
    // Stored before the head, so that the head never counts a missing item.
    item: {
      name: 'history-v4',
      document: itemDocument,
      indexes: [
        // Of indexes that seem equally good, SQLite takes the first: the others would read all items of a user.
        ['userId', 'session', 'type', 'sequence'],
        ['userId', 'session', 'sequence'],
        ['userId', 'app', 'type', 'sequence'],
        ['userId', 'app', 'sequence'],
        ['userId', 'type', 'sequence'],
        ['userId', 'sequence'],
        ['userId', 'time', 'sequence'],
      ],
    },
    head: { name: 'history-heads-v4', document: headDocument, indexes: [] },
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
