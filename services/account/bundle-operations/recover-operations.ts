import type { SponsorshipEvent } from '../../../schemas/events/sponsorship-events.ts';
import type { TransactionEvent } from '../../../schemas/events/transaction-events.ts';
import type { EventStore, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { readEvery } from '../../../shared/event-store/read-every.ts';
import { reservationsModel } from '../../../shared/read-models/reservations.ts';
import { transactionsModel } from '../../../shared/read-models/transactions.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { openTransactions } from '../edge/open-transactions.ts';
import type { Bundler } from './bundler.ts';
import { CONTROLS, type BundlingControl, type ControlEvent } from './bundling-control.ts';
import type { ReservationsOnChain } from './reservations-on-chain.ts';

/** What one process has of the operations of a chain. */
export interface Begun {
  bundler: Bundler;
  reservations: ReservationsOnChain;
  /** With `RPC_DEBUG`. */
  control?: BundlingControl | undefined;
}

type Followed =
  | Extract<TransactionEvent | SponsorshipEvent, { type: 'TxSubmitted' | 'SponsorshipReserved' | 'SponsorshipSettled' }>
  | ControlEvent;
const FOLLOWED = ['TxSubmitted', 'SponsorshipReserved'] as const satisfies readonly Followed['type'][];

/** The types of events that `takeOver` is for. */
export const followedBy = ({ control }: Pick<Begun, 'control'>): readonly Followed['type'][] =>
  control ? [...FOLLOWED, ...CONTROLS] : FOLLOWED;

/** Until when the blocks of a chain were recorded as final: a position counted in blocks. */
export const checkpointOf = (chainId: number): string => `operations-${String(chainId)}-v1`;

/** Takes over what another part of the service, or another process, has stored. */
export const takeOver = async ({ bundler, reservations, control }: Begun, stored: StoredEvent): Promise<void> => {
  const event = stored as unknown as Followed;
  if (event.type === 'TxSubmitted') await bundler.take(event);
  else if (event.type === 'SponsorshipReserved') await reservations.take(stored.stream, event.data);
  else if (event.type !== 'SponsorshipSettled') control?.take(event);
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
  const open: string[] = [];
  for await (const { id } of openTransactions(readStore, chainId)) open.push(id);
  for await (const event of readEvery(eventStore, {
    after,
    filter: { types: [...followedBy(begun), 'SponsorshipSettled'] },
  })) {
    const { type, data } = event as unknown as Followed;
    if (type === 'SponsorshipSettled') begun.reservations.takeSettled(event.stream, data, finalBlock ?? 0);
    else await takeOver(begun, event);
    after = event.position;
  }
  await begun.bundler.recover({ open, finalBlock });
  return after;
};
