import type { SponsorshipEvent } from '../../../schemas/events/onchain/sponsorship-events.ts';
import type { TransactionEvent } from '../../../schemas/events/onchain/transaction-events.ts';
import type { EventStore, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { readEvery } from '../../../shared/event-store/read-every.ts';
import { reservationsModel } from '../../../shared/read-models/onchain/reservations.ts';
import { transactionsModel } from '../../../shared/read-models/onchain/transactions.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { openTransactions } from '../transactions/open-transactions.ts';
import type { Bundler } from './bundler.ts';
import { CONTROL_TYPES, type BundlingControl, type ControlEvent } from './bundling-control.ts';
import type { ReservationsOnChain } from './reservations-on-chain.ts';

/** The running bundler of a chain, and the parts that stored events change. */
export interface StartedBundler {
  bundler: Bundler;
  reservations: ReservationsOnChain;
  /** Applies the `debug_bundler_*` calls; `undefined` unless the setting `RPC_DEBUG` is `on`. */
  control?: BundlingControl | undefined;
}

type AppliedEvent =
  | Extract<TransactionEvent | SponsorshipEvent, { type: 'TxSubmitted' | 'SponsorshipReserved' | 'SponsorshipSettled' }>
  | ControlEvent;
const APPLIED_TYPES = ['TxSubmitted', 'SponsorshipReserved'] as const satisfies readonly AppliedEvent['type'][];

/** Returns the types of the events to pass to `applyEvent`. */
export const eventTypesFor = ({ control }: Pick<StartedBundler, 'control'>): readonly AppliedEvent['type'][] =>
  control ? [...APPLIED_TYPES, ...CONTROL_TYPES] : APPLIED_TYPES;

/** Returns the name of the checkpoint whose position is the number of the newest block recorded as final. */
export const checkpointName = (chainId: number): string => `operations-${String(chainId)}-v1`;

/** Updates a running bundler with an event that another process, or another part of the service, stored. */
export const applyEvent = async (begun: StartedBundler, stored: StoredEvent): Promise<void> => {
  const { bundler, reservations, control } = begun;
  const event = stored as unknown as AppliedEvent;
  if (event.type === 'TxSubmitted') await bundler.addSubmitted(event);
  else if (event.type === 'SponsorshipReserved') await reservations.addReserved(stored.stream, event.data);
  else if (event.type !== 'SponsorshipSettled') control?.note(event);
};

/**
 * Loads what earlier processes stored: first the documents of the read models, then the events that the documents do
 * not contain yet. Blocks are read last: each is recorded once, for the operations known by then.
 * @returns the position of the last event applied. @throws ChainUnavailable
 */
export const recoverOperations = async (
  begun: StartedBundler,
  {
    chainId,
    eventStore,
    readStore,
  }: { chainId: number; eventStore: Pick<EventStore, 'readAll'>; readStore: Pick<ReadStore, 'find' | 'position'> },
): Promise<Position> => {
  const positions = [transactionsModel, reservationsModel].map(({ name }) => readStore.position(name));
  let after = Math.min(...(await Promise.all(positions)));
  const finalBlock = (await readStore.position(checkpointName(chainId))) || undefined;
  await begun.reservations.recover(readStore, finalBlock ?? 0);
  const open: string[] = [];
  for await (const { id } of openTransactions(readStore, chainId)) open.push(id);
  for await (const event of readEvery(eventStore, {
    after,
    filter: { types: [...eventTypesFor(begun), 'SponsorshipSettled'] },
  })) {
    const { type, data } = event as unknown as AppliedEvent;
    if (type === 'SponsorshipSettled') begun.reservations.addSettled(event.stream, data, finalBlock ?? 0);
    else await applyEvent(begun, event);
    after = event.position;
  }
  await begun.bundler.recover({ open, finalBlock });
  return after;
};
