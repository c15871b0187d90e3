import { userStream } from '../../../../schemas/events/account/user-events.ts';
import type { EventStore, EventToAppend } from '../../../../shared/event-store/event-store.ts';
import { toAppend } from '../../../../shared/event-store/transactions/transact.ts';
import type { PersonalData } from '../../../../shared/key-vault/personal-data.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import { someObservation } from '../engines/some-observation.ts';

/** The size of the aims is `HISTORY_EVENTS=10000000 HISTORY_ITEMS=100000`, for which a disk needs some tens of GB. */
export const EVENTS = Number(process.env['HISTORY_EVENTS'] ?? 100_000);
/** How many of them are of one user. */
export const ITEMS = Number(process.env['HISTORY_ITEMS'] ?? 10_000);
export const SIZE = `${ITEMS.toLocaleString('en')} events of a user among ${EVENTS.toLocaleString('en')}`;

const CONTRACT = '0x00000000000000000000000000000000000bench';
const EVENTS_PER_APPEND = 1_000;
const metadata = { correlationId: 'bench', actor: { type: 'system', id: 'bench' } } as const;

export const nameAt = (index: number): string => `name ${String(index)}`;

/** Appends events of a contract, as the event catcher does. @param from how many of them are stored already */
export const appendObservations = async (store: EventStore, from: number, count: number): Promise<void> => {
  for (let at = from; at < from + count; at += EVENTS_PER_APPEND) {
    const size = Math.min(EVENTS_PER_APPEND, from + count - at);
    const events = Array.from({ length: size }, (_, index) => someObservation(CONTRACT, at + index));
    await store.append(`chain-2484-${CONTRACT}`, at - 1, events);
  }
};

/**
 * Appends changes of a user's name between the events of a contract.
 * @returns the position of each change
 */
export const appendHistory = async (
  { eventStore, personalData }: { eventStore: EventStore; personalData: PersonalData },
  userId: string,
): Promise<number[]> => {
  const stream = userStream(userId);
  const [newest] = await eventStore.read(stream, { direction: 'backwards', limit: 1 });
  let revision = newest?.revision ?? -1;
  const positions: number[] = [];
  const rounds = Math.ceil(EVENTS / EVENTS_PER_APPEND);
  for (let round = 0; round < rounds; round += 1) {
    await appendObservations(eventStore, round * EVENTS_PER_APPEND, EVENTS_PER_APPEND);
    const upTo = Math.round((ITEMS * (round + 1)) / rounds);
    const changes: EventToAppend[] = [];
    for (let at = positions.length; at < upTo; at += 1) {
      const data = { userId, changes: { username: nameAt(at) } };
      const event = toAppend({ type: 'ProfileUpdated', data }, metadata, { clock: systemClock, ids: systemIds });
      changes.push(await personalData.seal(event));
    }
    if (changes.length === 0) continue;
    const appended = await eventStore.append(stream, revision, changes);
    revision = appended.revision;
    for (let before = changes.length - 1; before >= 0; before -= 1) positions.push(appended.position - before);
  }
  return positions;
};
