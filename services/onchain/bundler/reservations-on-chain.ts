import type { SponsorshipEvent } from '../../../schemas/events/sponsorship-events.ts';
import { reservationsModel, type ReservationDocument } from '../../../shared/read-models/reservations.ts';
import type { Filter, ReadStore } from '../../../shared/read-store/read-store.ts';
import type { OperationInclusion, OperationsBlock } from '../edge/operations-chain.ts';
import type { Sponsorships } from '../edge/sponsorships.ts';
import type { IsInChain, Settlements } from './observations.ts';

const FOUND_AT_ONCE = 1_000;

type Reserved = Extract<SponsorshipEvent, { type: 'SponsorshipReserved' }>['data'];
type Settled = Extract<SponsorshipEvent, { type: 'SponsorshipSettled' }>['data'];

/** What is reserved for one sender and nonce in the stream of an app and day. */
interface Reservation {
  stream: string;
  sender: string;
  nonce: bigint;
  userOpHashes: Set<string>;
  /** Unix milliseconds. */
  validUntilMs: number;
  /** The operation and the block that it is settled by. */
  settled: { userOpHash: string; blockHash: string; blockNumber: number } | undefined;
}

const slotOf = ({ sender, nonce }: Pick<OperationInclusion, 'sender' | 'nonce'>): string =>
  `${sender}:${String(nonce)}`;

/** What is reserved for operations of one chain: settled when a block has one, whoever sent it, and released when none ever can. */
export class ReservationsOnChain implements Settlements {
  /** By sender and nonce, and by stream. Those that are settled too, until their block is final. */
  private readonly slots = new Map<string, Map<string, Reservation>>();
  /** What blocks that are not final have with our paymaster, and no reservation is known of yet: by hash. */
  private readonly unmatched = new Map<string, OperationInclusion>();

  constructor(
    private readonly chainId: number,
    private readonly paymaster: string,
    private readonly sponsorships: Sponsorships,
  ) {}

  /**
   * Takes over what is reserved, and what is settled and may still leave the chain.
   * @param finalBlock up to which everything was recorded as final
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

  /** Takes over a reservation that was made meanwhile. Somebody may have had its operation included already. */
  async take(stream: string, { chainId, sender, nonce, userOpHash, validUntil }: Reserved): Promise<void> {
    if (chainId !== this.chainId) return;
    const slot = { sender, nonce: BigInt(nonce) };
    const validUntilMs = Date.parse(validUntil);
    this.put({ stream, ...slot, userOpHashes: new Set([userOpHash]), validUntilMs, settled: undefined });
    const inclusion = this.unmatched.get(userOpHash);
    if (inclusion) await this.included(inclusion);
  }

  /** Takes over what an earlier process has settled, by a block that may have left the chain. */
  takeSettled(
    stream: string,
    { chainId, sender, nonce, userOpHash, blockHash, blockNumber }: Settled,
    finalBlock: number,
  ) {
    const known = this.slots.get(slotOf({ sender, nonce: BigInt(nonce) }))?.get(stream);
    if (known && chainId === this.chainId && blockNumber > finalBlock)
      known.settled = { userOpHash, blockHash, blockNumber };
  }

  /** Blocks by which something was settled may have left the chain while no process looked. */
  async undoWhatLeft(isInChain: IsInChain): Promise<void> {
    for (const all of this.slots.values()) {
      for (const { stream, sender, nonce, settled } of all.values()) {
        if (!settled) continue;
        const { userOpHash, blockHash, blockNumber } = settled;
        if (await isInChain({ hash: blockHash, number: blockNumber })) continue;
        await this.sponsorships.reserveAgain(stream, { chainId: this.chainId, sender, nonce, userOpHash, blockHash });
      }
    }
  }

  async included(inclusion: OperationInclusion): Promise<void> {
    const { sender, nonce, userOpHash, blockHash, blockNumber } = inclusion;
    if (inclusion.paymaster !== this.paymaster) return;
    const one = this.sponsoredBy(inclusion);
    if (!one) {
      this.unmatched.set(userOpHash, inclusion);
      return;
    }
    one.settled = { userOpHash, blockHash, blockNumber };
    const costWei = inclusion.actualGasCost;
    const slot = { chainId: this.chainId, sender, nonce };
    await this.sponsorships.settle(one.stream, { ...slot, userOpHash, costWei, blockHash, blockNumber });
  }

  async left(inclusion: OperationInclusion): Promise<void> {
    const { sender, nonce, userOpHash, blockHash } = inclusion;
    this.unmatched.delete(userOpHash);
    const one = this.sponsoredBy(inclusion);
    if (!one) return;
    one.settled = undefined;
    await this.sponsorships.reserveAgain(one.stream, { chainId: this.chainId, sender, nonce, userOpHash, blockHash });
  }

  async final({ timestamp }: OperationsBlock, inclusions: readonly OperationInclusion[]): Promise<void> {
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

  /** What is settled is not released, and needs not be watched any more either. */
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
