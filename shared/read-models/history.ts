import { z } from 'zod';
import { sealedText } from '../../schemas/events/event.ts';
import { sessionEvents } from '../../schemas/events/session-events.ts';
import { userEvents } from '../../schemas/events/user-events.ts';
import { historyItem } from '../../schemas/http/account-routes.ts';
import { canonicalJson, digestOf } from '../primitives/canonical-json.ts';
import { toIso } from '../primitives/clock.ts';
import { sha256 } from '../primitives/ids.ts';
import { readModel } from './read-model.ts';

/**
 * By `{userId}:{position}`. Personal members of `data` are as they are stored: `{enc, kid}`. `hash` is the SHA-256, in
 * lower-case hex, of the RFC 8785 form of an object: the members that an answer lists from `type` to `requestId`, then
 * `position`, `digest`, and `previous`, the hash of the previous item, which is 64 zeros for the first.
 */
const itemDocument = historyItem.extend({
  userId: z.string(),
  /** From 0, gapless per user. */
  sequence: z.int().nonnegative(),
  previous: z.string(),
  digest: z.string(),
  /** Empty for an event that was stored without a digest; `null` for one after an erasure. */
  salt: z.union([sealedText, z.literal(''), z.null()]),
});

/** By user id: how many items the user has, and the hash of the last one. */
const headDocument = z.object({ count: z.int(), hash: z.string() });
const NO_ITEM = { count: 0, hash: '0'.repeat(64) };

/** Everything that happened to a user's account; the hash of each item covers the one before it. */
export const historyModel = readModel({
  name: 'history-v2',
  collections: {
    // Stored before the head, so that the head never counts an item that is missing.
    item: { name: 'history-v2', document: itemDocument, indexes: [['userId', 'sequence']] },
    head: { name: 'history-heads-v2', document: headDocument, indexes: [] },
  },
  events: { ...userEvents, SessionRevoked: sessionEvents.SessionRevoked },
  keepsSealed: true,
  touches: ({ data: { userId }, position }) => ({ item: `${userId}:${String(position)}`, head: userId }),
  evolve: ({ head = NO_ITEM }, { type, data, time, position, metadata }) => {
    const { actor, app = null, session = null, correlationId: requestId } = metadata;
    const { digest = digestOf('', data) } = metadata;
    const salt = typeof metadata.salt === 'object' ? metadata.salt : ('' as const);
    const hashed = { type, time: toIso(time), actor, app, session, requestId, position, previous: head.hash, digest };
    const hash = sha256(canonicalJson(hashed));
    return {
      item: { userId: data.userId, sequence: head.count, ...hashed, data, salt, hash },
      head: { count: head.count + 1, hash },
    };
  },
});
