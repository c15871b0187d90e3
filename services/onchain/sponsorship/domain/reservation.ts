import type { SponsorshipEvent } from '../../../../schemas/events/onchain/sponsorship-events.ts';
import { largest } from '../../operations/domain/amounts.ts';
import { NOTHING, type Spending } from './spending.ts';

/** The possible or actual cost of the signatures of one slot. */
export interface Reservation {
  /** Of the first signature. */
  userId: string;
  /** The largest of its signatures. */
  maxCostWei: bigint;
  /** The latest of its signatures. */
  validUntilMs: number;
  /** The earliest of its signatures. */
  headBlock: number;
  /** Oldest first. */
  signatures: readonly { userOpHash: string; transactionId: string | null; userId: string }[];
  status:
    | { kind: 'reserved' | 'yielded' | 'released' }
    | { kind: 'settled'; userOpHash: string; costWei: bigint; blockHash: string };
}

export const reservationAfter = (
  before: Reservation | undefined,
  { type, data }: SponsorshipEvent,
): Reservation | undefined => {
  if (type === 'SponsorshipReserved') return withSignature(before, data);
  if (!before) return undefined;
  if (type === 'SponsorshipReleased') return { ...before, status: { kind: 'released' } };
  const { userOpHash, blockHash, costWei } = data;
  return { ...before, status: { kind: 'settled', userOpHash, blockHash, costWei: BigInt(costWei) } };
};

export type Reserved = Extract<SponsorshipEvent, { type: 'SponsorshipReserved' }>['data'];

const withSignature = (before: Reservation | undefined, data: Reserved): Reservation => {
  const { userOpHash, transactionId, headBlock, userId } = data;
  const maxCostWei = BigInt(data.maxCostWei);
  const validUntilMs = Date.parse(data.validUntil);
  const signature = { userOpHash, transactionId, userId };
  if (!before) {
    return { userId, maxCostWei, validUntilMs, headBlock, signatures: [signature], status: { kind: 'reserved' } };
  }
  const { status } = before;
  // A released signature can never be included: only the new one reserves.
  const isOver = status.kind === 'released';
  // Once a signature is settled, further ones of its slot reserve nothing, unless the block leaves the chain.
  const staysSettled = status.kind === 'settled' && status.userOpHash !== userOpHash;
  return {
    ...before,
    maxCostWei: isOver ? maxCostWei : largest(before.maxCostWei, maxCostWei),
    validUntilMs: Math.max(before.validUntilMs, validUntilMs),
    headBlock: Math.min(before.headBlock, headBlock),
    signatures: isSigned(before, userOpHash) ? before.signatures : [...before.signatures, signature],
    status: staysSettled ? status : { kind: 'reserved' },
  };
};

export const isSigned = ({ signatures }: Reservation, hash: string): boolean =>
  signatures.some(({ userOpHash }) => userOpHash === hash);

export const isSettledBy = (
  { status }: Reservation,
  { userOpHash, blockHash }: { userOpHash: string; blockHash: string },
): boolean => status.kind === 'settled' && status.userOpHash === userOpHash && status.blockHash === blockHash;

export const moreReserved = (known: Reservation | undefined, maxCostWei: bigint): bigint => {
  if (!known || known.status.kind === 'released') return maxCostWei;
  if (known.status.kind === 'yielded') return largest(maxCostWei, known.maxCostWei);
  return known.status.kind === 'settled' ? 0n : largest(maxCostWei - known.maxCostWei, 0n);
};

const spendingOf = (reservation: Reservation | undefined): Spending => {
  const kind = reservation?.status.kind;
  if (!reservation || kind === 'released' || kind === 'yielded') return NOTHING;
  const { status, maxCostWei } = reservation;
  return status.kind === 'settled'
    ? { reservedWei: 0n, settledWei: status.costWei, operations: 1 }
    : { reservedWei: maxCostWei, settledWei: 0n, operations: 1 };
};

export const changeOf = (before: Reservation | undefined, after: Reservation): Spending => {
  const [was, is] = [spendingOf(before), spendingOf(after)];
  return {
    reservedWei: is.reservedWei - was.reservedWei,
    settledWei: is.settledWei - was.settledWei,
    operations: is.operations - was.operations,
  };
};
