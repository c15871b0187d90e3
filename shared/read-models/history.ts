import { z } from 'zod';
import { sessionEvents } from '../../schemas/events/session-events.ts';
import { userEvents } from '../../schemas/events/user-events.ts';
import { historyItem } from '../../schemas/http/account-routes.ts';
import { toIso } from '../primitives/clock.ts';
import { sha256 } from '../primitives/ids.ts';
import { readModel } from './read-model.ts';

/**
 * By `{userId}:{position}`. `hash` is the SHA-256, in lower-case hex, of a JSON object: the members that an answer lists
 * from `type` to `position`, in that order, then `previous`, the hash of the previous item, which is 64 zeros for the
 * first.
 */
const itemDocument = historyItem.extend({
  userId: z.string(),
  /** From 0, gapless per user. */
  sequence: z.int().nonnegative(),
  previous: z.string(),
});

/** By user id: how many items the user has, and the hash of the last one. */
const headDocument = z.object({ count: z.int(), hash: z.string() });
const NO_ITEM = { count: 0, hash: '0'.repeat(64) };

/** Everything that happened to a user's account; the hash of each item covers the one before it. */
export const historyModel = readModel({
  name: 'history-v1',
  collections: {
    // Stored before the head, so that the head never counts an item that is missing.
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
