import { z } from 'zod';
import { identityStream } from '../../schemas/events/identity-events.ts';
import { walletIdentityIds } from '../chain/wallet-identity.ts';
import type { EventStore } from '../event-store/event-store.ts';

const claimed = z.object({ userId: z.string() });

/** Returns the user to whom a wallet's own key is linked, at this moment; `undefined` if it is nobody's. */
export const holderOfWallet = async (
  eventStore: Pick<EventStore, 'read'>,
  address: string,
): Promise<string | undefined> => {
  for (const identityId of walletIdentityIds(address)) {
    const [last] = await eventStore.read(identityStream(identityId), { direction: 'backwards', limit: 1 });
    if (last?.type === 'IdentityClaimed') return claimed.parse(last.data).userId;
  }
  return undefined;
};
