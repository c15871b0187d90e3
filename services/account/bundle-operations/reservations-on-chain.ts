import type { SponsorshipEvent } from '../../../schemas/events/sponsorship-events.ts';
import { reservationsModel, type ReservationDocument } from '../../../shared/read-models/reservations.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { OperationInclusion, OperationsBlock } from '../edge/operations-chain.ts';
import type { Sponsorships } from '../edge/sponsorships.ts';
import type { Settlements } from './observations.ts';

const FOUND_AT_ONCE = 1_000;

type Reserved = Extract<SponsorshipEvent, { type: 'SponsorshipReserved' }>['data'];

/** What is reserved for one sender and nonce in the stream of an app and day. */
interface Reservation {
  stream: string;
  sender: string;
  nonce: bigint;
  userOpHashes: Set<string>;
  /** Unix milliseconds. */
  validUntilMs: number;
}

const slotOf = ({ sender, nonce }: Pick<OperationInclusion, 'sender' | 'nonce'>): string =>
  `${sender}:${String(nonce)}`;

/** What is reserved for operations of one chain: settled when a block has one, whoever sent it, and released when none ever can. */
export class ReservationsOnChain implements Settlements {
  /** By sender and nonce, and by stream. Those that are settled too, until their block is final. */
  private readonly slots = new Map<string, Map<string, Reservation>>();

  constructor(
    private readonly chainId: number,
    private readonly paymaster: string,
    private readonly sponsorships: Sponsorships,
  ) {}

  /** Takes over what is reserved, and what is settled and may still leave the chain. */
  async recover(readStore: Pick<ReadStore, 'find'>): Promise<void> {
    const { reservation } = reservationsModel.collections;
    for (const state of ['reserved', 'settled'] as const) {
      for (let skip = 0; ; skip += FOUND_AT_ONCE) {
        const options = { filter: { chainId: this.chainId, state }, skip, limit: FOUND_AT_ONCE };
        const found = await readStore.find(reservation.name, options);
        for (const { document } of found) this.add(reservation.document.parse(document));
        if (found.length < FOUND_AT_ONCE) break;
      }
    }
  }

  take(stream: string, { chainId, sender, nonce, userOpHash, validUntil }: Reserved): void {
    if (chainId !== this.chainId) return;
    this.put({
      stream,
      sender,
      nonce: BigInt(nonce),
      userOpHashes: new Set([userOpHash]),
      validUntilMs: Date.parse(validUntil),
    });
  }

  async included(inclusion: OperationInclusion): Promise<void> {
    const { sender, nonce, userOpHash, blockHash, blockNumber } = inclusion;
    const one = this.sponsoredBy(inclusion);
    if (!one) return;
    const costWei = inclusion.actualGasCost;
    const slot = { chainId: this.chainId, sender, nonce };
    await this.sponsorships.settle(one.stream, { ...slot, userOpHash, costWei, blockHash, blockNumber });
  }

  async left(inclusion: OperationInclusion): Promise<void> {
    const { sender, nonce, userOpHash, blockHash } = inclusion;
    const one = this.sponsoredBy(inclusion);
    if (!one) return;
    await this.sponsorships.reserveAgain(one.stream, { chainId: this.chainId, sender, nonce, userOpHash, blockHash });
  }

  async final({ timestamp }: OperationsBlock, inclusions: readonly OperationInclusion[]): Promise<void> {
    for (const inclusion of inclusions) await this.release(slotOf(inclusion), { reason: 'nonce_used' });
    const finalBlockTimeMs = timestamp * 1_000;
    for (const [slot, all] of this.slots) {
      const isExpired = [...all.values()].every(({ validUntilMs }) => validUntilMs < finalBlockTimeMs);
      if (isExpired) await this.release(slot, { reason: 'expired', finalBlockTimeMs });
    }
  }

  /** What is settled is not released, and needs not be watched any more either. */
  private async release(slot: string, why: Parameters<Sponsorships['release']>[2]): Promise<void> {
    for (const { stream, sender, nonce } of this.slots.get(slot)?.values() ?? []) {
      await this.sponsorships.release(stream, { chainId: this.chainId, sender, nonce }, why);
    }
    this.slots.delete(slot);
  }

  private sponsoredBy(inclusion: OperationInclusion): Reservation | undefined {
    if (inclusion.paymaster !== this.paymaster) return undefined;
    const all = [...(this.slots.get(slotOf(inclusion))?.values() ?? [])];
    return all.find(({ userOpHashes }) => userOpHashes.has(inclusion.userOpHash));
  }

  private add({ stream, sender, nonce, userOpHashes, validUntil }: ReservationDocument): void {
    const validUntilMs = Date.parse(validUntil);
    this.put({ stream, sender, nonce: BigInt(nonce), userOpHashes: new Set(userOpHashes), validUntilMs });
  }

  private put(reservation: Reservation): void {
    const slot = slotOf(reservation);
    const all = this.slots.get(slot) ?? new Map<string, Reservation>();
    this.slots.set(slot, all);
    const known = all.get(reservation.stream);
    if (!known) all.set(reservation.stream, reservation);
    else {
      for (const hash of reservation.userOpHashes) known.userOpHashes.add(hash);
      known.validUntilMs = Math.max(known.validUntilMs, reservation.validUntilMs);
    }
  }
}
