import type { ChainAcceptanceEvent } from '../../../../schemas/events/chain-events.ts';
import type { EventStore, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { acceptanceStream } from '../../domain/acceptance.ts';

/** Whether the operator has accepted that the chain gave up this block, which is the newest final one here. */
export const isAccepted = async (
  eventStore: Pick<EventStore, 'read'>,
  chainId: number,
  { hash }: { hash: string },
): Promise<boolean> => {
  const [newest] = await eventStore.read(acceptanceStream(chainId), { direction: 'backwards', limit: 1 });
  return newest !== undefined && (newest as StoredEvent & ChainAcceptanceEvent).data.hash === hash;
};
