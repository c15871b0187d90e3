import type { SponsorshipEvent } from '../../../schemas/events/sponsorship-events.ts';
import type { TransactionEvent } from '../../../schemas/events/transaction-events.ts';
import type { EventStore, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { readEvery } from '../../../shared/event-store/read-every.ts';
import { reservationsModel } from '../../../shared/read-models/reservations.ts';
import { transactionsModel } from '../../../shared/read-models/transactions.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { Bundler } from './bundler.ts';
import type { ReservationsOnChain } from './reservations-on-chain.ts';

const FOUND_AT_ONCE = 1_000;

/** What one process has of the operations of a chain. */
export interface Begun {
  bundler: Bundler;
  reservations: ReservationsOnChain;
}

type Followed = TransactionEvent | SponsorshipEvent;
export const FOLLOWED = ['TxSubmitted', 'SponsorshipReserved'] as const satisfies readonly Followed['type'][];
const READ_ONCE = [...FOLLOWED, 'SponsorshipSettled'] as const satisfies readonly Followed['type'][];

/** Until when the blocks of a chain were recorded as final: a position counted in blocks. */
export const checkpointOf = (chainId: number): string => `operations-${String(chainId)}-v1`;

/** Takes over what another part of the service, or another process, has stored. */
export const takeOver = async ({ bundler, reservations }: Begun, event: StoredEvent): Promise<void> => {
  const { type, data } = event as unknown as Followed;
  if (type === 'TxSubmitted') await bundler.take({ type, data });
  else if (type === 'SponsorshipReserved') await reservations.take(event.stream, data);
};

/**
 * Takes over what earlier processes have left: what read models have, then what was stored since. Only then are blocks recorded,
 * because each is recorded once, for what is known then.
 * @returns the position up to which events were taken over. @throws ChainUnavailable
 */
export const recoverOperations = async (
  begun: Begun,
  {
    chainId,
    eventStore,
    readStore,
  }: { chainId: number; eventStore: Pick<EventStore, 'readAll'>; readStore: Pick<ReadStore, 'find' | 'position'> },
): Promise<Position> => {
  const positions = [transactionsModel, reservationsModel].map(({ name }) => readStore.position(name));
  let after = Math.min(...(await Promise.all(positions)));
  const finalBlock = (await readStore.position(checkpointOf(chainId))) || undefined;
  await begun.reservations.recover(readStore, finalBlock ?? 0);
  const open = await openTransactions(readStore, chainId);
  for await (const event of readEvery(eventStore, { after, filter: { types: READ_ONCE } })) {
    const { type, data } = event as unknown as Followed;
    if (type === 'SponsorshipSettled') begun.reservations.takeSettled(event.stream, data, finalBlock ?? 0);
    else await takeOver(begun, event);
    after = event.position;
  }
  await begun.bundler.recover({ open, finalBlock });
  return after;
};

const openTransactions = async (readStore: Pick<ReadStore, 'find'>, chainId: number): Promise<string[]> => {
  const { transaction } = transactionsModel.collections;
  const ids: string[] = [];
  for (;;) {
    const options = { filter: { chainId, isOpen: true }, skip: ids.length, limit: FOUND_AT_ONCE };
    const found = await readStore.find(transaction.name, options);
    ids.push(...found.map(({ id }) => id));
    if (found.length < FOUND_AT_ONCE) return ids;
  }
};
