import { reservationsModel } from '../../../shared/read-models/reservations.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

const RESERVATIONS_AT_ONCE = 1_000;

const { reservation } = reservationsModel.collections;

/** Returns what is reserved of the deposit on a chain, by whichever app and day. */
export const reservedWeiOn = async (readStore: Pick<ReadStore, 'find'>, chainId: number): Promise<bigint> => {
  let total = 0n;
  // By id, so that none is left out when those before it are settled meanwhile.
  for (let after = ''; ;) {
    const found = await readStore.find(reservation.name, {
      filter: { chainId, state: 'reserved', id: { gt: after } },
      sort: [['id', 'asc']],
      limit: RESERVATIONS_AT_ONCE,
    });
    for (const { document } of found) total += BigInt(reservation.document.parse(document).maxCostWei);
    const last = found.at(-1);
    if (!last || found.length < RESERVATIONS_AT_ONCE) return total;
    after = last.id;
  }
};
