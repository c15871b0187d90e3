import type { ChainProgressEvent } from '../../../schemas/events/event-catcher/chain-events.ts';
import type { EventStore, StoredEvent } from '../../../shared/event-store/event-store.ts';

/** Returns the newest stored progress of a chain; `undefined` if nothing of it was read. */
export const storedProgress = async (
  eventStore: Pick<EventStore, 'read'>,
  chainId: number,
): Promise<ChainProgressEvent['data'] | undefined> => {
  const [newest] = await eventStore.read(`chain-${String(chainId)}`, { direction: 'backwards', limit: 1 });
  return newest?.type === 'ChainAdvanced' ? (newest as StoredEvent & ChainProgressEvent).data : undefined;
};
