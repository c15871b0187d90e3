import { z } from 'zod';
import { sessionEvents } from '../../schemas/events/session-events.ts';
import { userEvents } from '../../schemas/events/user-events.ts';
import { historyItem } from '../../schemas/http/account-routes.ts';
import { toIso } from '../primitives/clock.ts';
import { sha256 } from '../primitives/ids.ts';
import { readModel } from './read-model.ts';

/**
 * By `{userId}:{position}`. `hash` is the lower-hex SHA-256 of the JSON of what an answer lists from `type` to `position`,
 * in that order, then `previous`: the hash of the item before, 64 zeros for the first.
 */
const itemDocument = historyItem.extend({
  userId: z.string(),
  /** From 0, gapless per user. */
  sequence: z.int().nonnegative(),
  previous: z.string(),
});

/** By user id: where the chain of hashes goes on. */
const headDocument = z.object({ count: z.int(), hash: z.string() });
const NO_ITEM = { count: 0, hash: '0'.repeat(64) };

/** Everything that happened to a user's account, each item bound to the one before it by its hash. */
export const historyModel = readModel({
  name: 'history-v1',
  collections: {
    // Before their head: it never counts an item that is not there.
    item: { name: 'history', document: itemDocument, indexes: [['userId', 'sequence']] },
    head: { name: 'history-heads', document: headDocument, indexes: [] },
  },
  events: { ...userEvents, SessionRevoked: sessionEvents.SessionRevoked },
  touches: ({ data: { userId }, position }) => ({ item: `${userId}:${String(position)}`, head: userId }),
  evolve: ({ head = NO_ITEM }, { type, data, time, position, metadata }) => {
    const { actor, app = null, session = null, correlationId: requestId } = metadata;
    const hashed = { type, time: toIso(time), actor, app, session, requestId, data, position, previous: head.hash };
    const hash = sha256(JSON.stringify(hashed));
    return {
      item: { userId: data.userId, sequence: head.count, ...hashed, hash },
      head: { count: head.count + 1, hash },
    };
  },
});
