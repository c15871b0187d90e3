import { userStream } from '../../schemas/events/account/user-events.ts';
import { sealedText } from '../../schemas/events/event.ts';
import type { EventStore } from '../event-store/event-store.ts';

/** What stored events reveal about a key that the vault lacks: if something was sealed with the key, it was lost. */
export interface SealedBefore {
  ofUser: (userId: string) => Promise<boolean>;
  /** Whether the user was told a smart account's address, which the owner key determines for ever. */
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
