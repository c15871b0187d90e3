import { reservationsModel } from '../../../shared/read-models/onchain/reservations.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

const RESERVATIONS_AT_ONCE = 1_000;

const { reservation } = reservationsModel.collections;

/** Returns how much of the deposit on a chain is reserved, by all apps and days. */
export const reservedWeiOn = async (readStore: Pick<ReadStore, 'find'>, chainId: number): Promise<bigint> => {
  let total = 0n;
  // Ordered by id, so that settling earlier reservations meanwhile leaves none out.
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
