import { z } from 'zod';
import { identityStream } from '../../schemas/events/account/identity-events.ts';
import { walletIdentityId } from '../chain/identifiers/wallet-identity.ts';
import type { EventStore } from '../event-store/event-store.ts';

const claimed = z.object({ userId: z.string() });

/** Returns the user to whom a wallet's own key is linked right now; `undefined` if there is none. */
export const holderOfWallet = async (
  eventStore: Pick<EventStore, 'read'>,
  address: string,
): Promise<string | undefined> => {
  const stream = identityStream(walletIdentityId(address));
  const [last] = await eventStore.read(stream, { direction: 'backwards', limit: 1 });
  return last?.type === 'IdentityClaimed' ? claimed.parse(last.data).userId : undefined;
};
