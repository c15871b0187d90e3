import type { SponsorshipEvent } from '../../../schemas/events/onchain/sponsorship-events.ts';
import { reservationsModel, type ReservationDocument } from '../../../shared/read-models/onchain/reservations.ts';
import type { Filter, ReadStore } from '../../../shared/read-store/read-store.ts';
import type { OperationInclusion, OperationsBlock } from '../chain/operations-chain.ts';
import type { Sponsorships } from '../sponsorship/sponsorships.ts';

const FOUND_AT_ONCE = 1_000;

type Reserved = Extract<SponsorshipEvent, { type: 'SponsorshipReserved' }>['data'];
type Settled = Extract<SponsorshipEvent, { type: 'SponsorshipSettled' }>['data'];

/** The part of the paymaster's deposit reserved for one sender and nonce; stored in the stream of an app and day. */
interface Reservation {
  stream: string;
  sender: string;
  nonce: bigint;
  userOpHashes: Set<string>;
  /** When the paymaster signature for this sender and nonce that expires last expires, in Unix milliseconds. */
  validUntilMs: number;
  /** The included operation that settled the reservation, and its block; `undefined` while the reservation is open. */
  settled: { userOpHash: string; blockHash: string; blockNumber: number } | undefined;
}

const slotOf = ({ sender, nonce }: Pick<OperationInclusion, 'sender' | 'nonce'>): string =>
  `${sender}:${String(nonce)}`;

/**
 * Reservations of the paymaster's deposit for sponsored operations of one chain. A reservation is settled once a block
 * includes its operation, in anybody's bundle, and released once no block can include the operation. Repeating a call
 * changes nothing.
 */
export class ReservationsOnChain {
  /** Reservations by sender and nonce, then by stream. Settled reservations stay until their block is final. */
  private readonly slots = new Map<string, Map<string, Reservation>>();
  /** By user operation hash: operations with our paymaster, in blocks that are not final, without known reservation. */
  private readonly unmatched = new Map<string, OperationInclusion>();

  constructor(
    private readonly chainId: number,
    private readonly paymaster: string,
    private readonly sponsorships: Sponsorships,
  ) {}

  /**
   * Loads open reservations, and settled ones whose block may still be orphaned.
   * @param finalBlock the newest block that was recorded as final
   */
  async recover(readStore: Pick<ReadStore, 'find'>, finalBlock: number): Promise<void> {
    const { reservation } = reservationsModel.collections;
    const { chainId } = this;
    const filters: Filter[] = [
      { chainId, state: 'reserved' },
      { chainId, state: 'settled', blockNumber: { gt: finalBlock } },
    ];
    for (const filter of filters) {
      for (let skip = 0; ; skip += FOUND_AT_ONCE) {
        const found = await readStore.find(reservation.name, { filter, skip, limit: FOUND_AT_ONCE });
        for (const { document } of found) this.add(reservation.document.parse(document));
        if (found.length < FOUND_AT_ONCE) break;
      }
    }
  }

  /** Adds a new reservation, and settles it if a block already includes its operation. */
  async addReserved(stream: string, { chainId, sender, nonce, userOpHash, validUntil }: Reserved): Promise<void> {
    if (chainId !== this.chainId) return;
    const slot = { sender, nonce: BigInt(nonce) };
    const validUntilMs = Date.parse(validUntil);
    this.put({ stream, ...slot, userOpHashes: new Set([userOpHash]), validUntilMs, settled: undefined });
    const inclusion = this.unmatched.get(userOpHash);
    if (inclusion) await this.onIncluded(inclusion);
  }

  /**
   * Marks a reservation as settled, as an earlier process recorded, if the settling block is not final. The block may
   * be orphaned by now.
   */
  addSettled(
    stream: string,
    { chainId, sender, nonce, userOpHash, blockHash, blockNumber }: Settled,
    finalBlock: number,
  ) {
    const known = this.slots.get(slotOf({ sender, nonce: BigInt(nonce) }))?.get(stream);
    if (known && chainId === this.chainId && blockNumber > finalBlock)
      known.settled = { userOpHash, blockHash, blockNumber };
  }

  /** Reopens each settled reservation whose operation is no longer on the chain: its block was orphaned. */
  async revertOrphaned(isInChain: (block: { hash: string; number: number }) => Promise<boolean>): Promise<void> {
    for (const all of this.slots.values()) {
      for (const { stream, sender, nonce, settled } of all.values()) {
        if (!settled) continue;
        const { userOpHash, blockHash, blockNumber } = settled;
        if (await isInChain({ hash: blockHash, number: blockNumber })) continue;
        await this.sponsorships.reserveAgain(stream, { chainId: this.chainId, sender, nonce, userOpHash, blockHash });
      }
    }
  }

  async onIncluded(inclusion: OperationInclusion): Promise<void> {
    const { sender, nonce, userOpHash, blockHash, blockNumber } = inclusion;
    if (inclusion.paymaster !== this.paymaster) return;
    const reservation = this.sponsoredBy(inclusion);
    if (!reservation) {
      this.unmatched.set(userOpHash, inclusion);
      return;
    }
    reservation.settled = { userOpHash, blockHash, blockNumber };
    const costWei = inclusion.actualGasCost;
    const slot = { chainId: this.chainId, sender, nonce };
    await this.sponsorships.settle(reservation.stream, { ...slot, userOpHash, costWei, blockHash, blockNumber });
  }

  /** Reopens the reservation that this operation had settled: the block of the operation was orphaned. */
  async onOrphaned(inclusion: OperationInclusion): Promise<void> {
    const { sender, nonce, userOpHash, blockHash } = inclusion;
    this.unmatched.delete(userOpHash);
    const reservation = this.sponsoredBy(inclusion);
    if (!reservation) return;
    reservation.settled = undefined;
    await this.sponsorships.reserveAgain(reservation.stream, {
      chainId: this.chainId,
      sender,
      nonce,
      userOpHash,
      blockHash,
    });
  }

  /** Releases open reservations whose nonce a final block used, or whose signatures expired before the block's time. */
  async onFinal({ timestamp }: OperationsBlock, inclusions: readonly OperationInclusion[]): Promise<void> {
    for (const inclusion of inclusions) {
      this.unmatched.delete(inclusion.userOpHash);
      await this.release(slotOf(inclusion), { reason: 'nonce_used' });
    }
    const finalBlockTimeMs = timestamp * 1_000;
    for (const [slot, all] of this.slots) {
      const isExpired = [...all.values()].every(({ validUntilMs }) => validUntilMs < finalBlockTimeMs);
      if (isExpired) await this.release(slot, { reason: 'expired', finalBlockTimeMs });
    }
  }

  /** Releases the open reservations for a sender and nonce, and forgets the settled ones, whose blocks are final. */
  private async release(slot: string, why: Parameters<Sponsorships['release']>[2]): Promise<void> {
    for (const { stream, sender, nonce } of this.slots.get(slot)?.values() ?? []) {
      await this.sponsorships.release(stream, { chainId: this.chainId, sender, nonce }, why);
    }
    this.slots.delete(slot);
  }

  private sponsoredBy(inclusion: OperationInclusion): Reservation | undefined {
    const all = [...(this.slots.get(slotOf(inclusion))?.values() ?? [])];
    return all.find(({ userOpHashes }) => userOpHashes.has(inclusion.userOpHash));
  }

  private add(document: ReservationDocument): void {
    const { stream, sender, nonce, userOpHashes, validUntil, settledBy, blockHash, blockNumber } = document;
    const isSettled = settledBy !== null && blockHash !== null && blockNumber !== null;
    const settled = isSettled ? { userOpHash: settledBy, blockHash, blockNumber } : undefined;
    const validUntilMs = Date.parse(validUntil);
    this.put({ stream, sender, nonce: BigInt(nonce), userOpHashes: new Set(userOpHashes), validUntilMs, settled });
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
