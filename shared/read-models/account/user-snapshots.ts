import { z } from 'zod';
import { userEvents, type UserEvent } from '../../../schemas/events/account/user-events.ts';
import { readModel } from '../read-model.ts';
import { evolveUser, type UserDocument } from './users.ts';

/** A snapshot is stored after as many events of the user's stream. Stored data, which changes only with a new version. */
export const EVENTS_PER_SNAPSHOT = 64;

/** A `UserDocument` whose personal members are as stored: sealed. `withMessengerOpened` completes it once it is opened. */
const sealedUser = z.record(z.string(), z.any());
const snapshotDocument = z.object({
  userId: z.string(),
  /** Of the newest event that is folded into the user. */
  upTo: z.int(),
  user: sealedUser,
});
export type UserSnapshot = z.infer<typeof snapshotDocument>;

/** By user id: the user after the newest event, and whether snapshots can be made of it. */
const stateDocument = z.object({ user: sealedUser, isCertain: z.boolean() });

/**
 * Users as they were after every so many events, so that a query of an earlier time folds few. Sealed, because an erasure
 * does not reach every one of them: it destroys the key.
 */
export const userSnapshotsModel = readModel({
  name: 'user-snapshots-v1',
  collections: {
    // Stored first: a state that has more events than the snapshot would make another one.
    snapshot: { name: 'user-snapshots-v1', document: snapshotDocument, indexes: [['userId', 'upTo']] },
    state: { name: 'user-snapshot-states-v1', document: stateDocument, indexes: [] },
  },
  events: userEvents,
  keepsSealed: true,
  touches: ({ data: { userId }, revision }) => ({
    state: userId,
    ...(isLastOfSnapshot(revision) && { snapshot: `${userId}:${String(revision)}` }),
  }),
  evolve: ({ state }, event) => {
    const { position, revision, data } = event;
    const user = evolveUser(state?.user as UserDocument | undefined, event, event);
    const isCertain = isVerifiedCertain(user, event, state?.isCertain ?? true);
    const snapshot = { userId: data.userId, upTo: position, user };
    return { state: { user, isCertain }, ...(isCertain && isLastOfSnapshot(revision) && { snapshot }) };
  },
});

const isLastOfSnapshot = (revision: number): boolean => (revision + 1) % EVENTS_PER_SNAPSHOT === 0;

/**
 * Whether the claim that a messenger is verified follows from the user. A user who withdraws the claim while a messenger is
 * linked still has it if the two are the same messenger, which cannot be told as long as they are sealed.
 */
const isVerifiedCertain = ({ identities }: UserDocument, { type, data }: UserEvent, isCertain: boolean): boolean => {
  if (type !== 'MessengerUpdated' || data.changes.messengerVerified === undefined) return isCertain;
  return data.changes.messengerVerified !== null || identities.every(({ method }) => method !== 'messenger');
};
