import type { ChainAcceptanceEvent } from '../../../../schemas/events/chain-events.ts';
import type { EventStore, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { acceptanceStream } from '../../domain/acceptance.ts';

export type AcceptedBlock = ChainAcceptanceEvent['data'];

/** Returns what the operator has accepted, if it is that the chain dropped this block, which is the newest final one here. */
export const acceptedBlock = async (
  eventStore: Pick<EventStore, 'read'>,
  chainId: number,
  { hash }: { hash: string },
): Promise<AcceptedBlock | undefined> => {
  const [newest] = await eventStore.read(acceptanceStream(chainId), { direction: 'backwards', limit: 1 });
  const accepted = newest && (newest as StoredEvent & ChainAcceptanceEvent).data;
  return accepted?.hash === hash ? accepted : undefined;
};
