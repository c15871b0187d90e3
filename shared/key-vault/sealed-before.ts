import { userStream } from '../../schemas/events/user-events.ts';
import { sealedText } from '../../schemas/events/event.ts';
import type { EventStore } from '../event-store/event-store.ts';

/** What stored events say of a key that a vault lacks: if something was sealed with it, it was lost. */
export interface SealedBefore {
  ofUser: (userId: string) => Promise<boolean>;
  /** Whether the user was told of an account, which the owner key has for ever. */
  accountOf: (userId: string) => Promise<boolean>;
}

export const sealedIn = (eventStore: Pick<EventStore, 'read'>): SealedBefore => ({
  ofUser: async (userId) => {
    const newest = await eventStore.read(userStream(userId), { direction: 'backwards', limit: 1 });
    return newest.some(({ metadata }) => sealedText.safeParse(metadata.salt).success);
  },
  accountOf: async (userId) =>
    (await eventStore.read(userStream(userId))).some(({ type }) => type === 'SmartAccountAssigned'),
});
