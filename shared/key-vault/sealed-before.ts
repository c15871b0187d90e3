import { userStream } from '../../schemas/events/user-events.ts';
import { sealedText } from '../../schemas/events/event.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { readEvery } from '../event-store/read-every.ts';

/** What stored events say of a key that a vault lacks: if something was sealed with it, it was lost. */
export interface SealedBefore {
  anyUsers: () => Promise<boolean>;
  ofUser: (userId: string) => Promise<boolean>;
}

export const sealedIn = (eventStore: Pick<EventStore, 'read' | 'readAll'>): SealedBefore => ({
  anyUsers: async () => {
    for await (const { data } of readEvery(eventStore, { filter: { types: ['IdentityClaimed'] } })) {
      if (sealedText.safeParse(data['label']).success) return true;
    }
    return false;
  },
  ofUser: async (userId) => {
    const newest = await eventStore.read(userStream(userId), { direction: 'backwards', limit: 1 });
    return newest.some(({ metadata }) => sealedText.safeParse(metadata.salt).success);
  },
});
