import type { SponsorshipPolicy } from '../../../schemas/events/app-events.ts';
import type { SponsorshipEvent } from '../../../schemas/events/sponsorship-events.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { PersistentMap } from './persistent-map.ts';
import { refusedBy } from './sponsorship-policy.ts';

/** An operation's place: of all that are signed for one, the chain includes at most one. */
export interface OperationSlot {
  chainId: number;
  /** EIP-55. */
  sender: string;
  nonce: bigint;
}

/** A signature of the paymaster that is about to be given. */
export interface SignatureToReserve extends OperationSlot {
  /** `null` of an operation that was not submitted here. */
  transactionId: string | null;
  userOpHash: string;
  userId: string;
  maxCostWei: bigint;
  /** Unix milliseconds. */
  validUntilMs: number;
  /** The head of the chain when it is signed. */
  headBlock: number;
}

/** What the paymaster may have to pay for the signatures of one slot, or has paid. */
interface Reservation {
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
    { kind: 'reserved' | 'released' } | { kind: 'settled'; userOpHash: string; costWei: bigint; blockHash: string };
}

/** What is reserved and settled, and for how many slots. */
export interface Spending {
  reservedWei: bigint;
  settledWei: bigint;
  operations: number;
}

export interface Sponsorship {
  appId: string;
  slots: PersistentMap<Reservation>;
  /** By chain id. */
  chains: Readonly<Record<number, Spending>>;
  users: PersistentMap<Spending>;
  signatures: number;
}

const NOTHING: Spending = { reservedWei: 0n, settledWei: 0n, operations: 0 };
const NOTHING_SPENT: Sponsorship = {
  appId: '',
  slots: PersistentMap.empty(),
  chains: {},
  users: PersistentMap.empty(),
  signatures: 0,
};
/** What one signature takes as JSON, with its share of everything else. */
const SIGNATURE_CHARACTERS = 256;
/**
 * How many signatures one user is given over `/rpc` for one slot: each is kept for ever, and shares the reservation of the first,
 * so that no amount bounds them. By user, so that nobody uses up the slots of somebody else's account.
 */
const RPC_SIGNATURES_MAX = 100;

export const sponsorshipFold = {
  initial: NOTHING_SPENT,
  evolve: (state: Sponsorship, event: SponsorshipEvent): Sponsorship => {
    const slot = { ...event.data, nonce: BigInt(event.data.nonce) };
    const before = state.slots.get(keyOf(slot));
    const after = reservationAfter(before, event);
    if (!after) return state;
    const change = changeOf(before, after);
    const user = userKey(slot.chainId, after.userId);
    return {
      appId: event.data.appId,
      slots: state.slots.with(keyOf(slot), after),
      chains: { ...state.chains, [slot.chainId]: sumOf(spendingOn(state, slot.chainId), change) },
      users: state.users.with(user, sumOf(state.users.get(user) ?? NOTHING, change)),
      signatures: state.signatures + after.signatures.length - (before?.signatures.length ?? 0),
    };
  },
  characters: ({ signatures }: Sponsorship): number => signatures * SIGNATURE_CHARACTERS,
};

const reservationAfter = (
  before: Reservation | undefined,
  { type, data }: SponsorshipEvent,
): Reservation | undefined => {
  if (type === 'SponsorshipReserved') return withSignature(before, data);
  if (!before) return undefined;
  if (type === 'SponsorshipReleased') return { ...before, status: { kind: 'released' } };
  const { userOpHash, blockHash, costWei } = data;
  return { ...before, status: { kind: 'settled', userOpHash, blockHash, costWei: BigInt(costWei) } };
};

type Reserved = Extract<SponsorshipEvent, { type: 'SponsorshipReserved' }>['data'];

const withSignature = (before: Reservation | undefined, data: Reserved): Reservation => {
  const { userOpHash, transactionId, headBlock, userId } = data;
  const maxCostWei = BigInt(data.maxCostWei);
  const validUntilMs = Date.parse(data.validUntil);
  const signature = { userOpHash, transactionId, userId };
  if (!before) {
    return { userId, maxCostWei, validUntilMs, headBlock, signatures: [signature], status: { kind: 'reserved' } };
  }
  const { status } = before;
  // What was released can never be included: it reserves nothing beside the new signature.
  const isOver = status.kind === 'released';
  // Once one is settled, another of its slot reserves nothing, unless the block leaves the chain.
  const staysSettled = status.kind === 'settled' && status.userOpHash !== userOpHash;
  return {
    ...before,
    maxCostWei: isOver ? maxCostWei : larger(before.maxCostWei, maxCostWei),
    validUntilMs: Math.max(before.validUntilMs, validUntilMs),
    headBlock: Math.min(before.headBlock, headBlock),
    signatures: isSigned(before, userOpHash) ? before.signatures : [...before.signatures, signature],
    status: staysSettled ? status : { kind: 'reserved' },
  };
};

/** What the paymaster has beside what this app may spend of it. */
export interface SponsorshipLimits {
  policy: Pick<SponsorshipPolicy, 'dayWei' | 'userDayWei'>;
  /** The paymaster's deposit on the chain, and what of it is reserved, by whichever app and day. */
  deposit: { wei: bigint; reservedWei: bigint };
}

/**
 * Reserves what a signature may cost, beyond what is reserved for its slot already.
 * @throws Refusal sponsorship_refused with the rule `user_day`, `day` or `deposit`; without a rule where the slot has too many
 */
export const reserve = (
  state: Sponsorship,
  signature: SignatureToReserve & { appId: string },
  { policy, deposit }: SponsorshipLimits,
): SponsorshipEvent[] => {
  const { chainId, userId, appId, maxCostWei } = signature;
  const known = state.slots.get(keyOf(signature));
  if (known && isSigned(known, signature.userOpHash)) return [];
  if (known && signature.transactionId === null) requireRoom(known, userId);
  const moreWei = moreReserved(known, maxCostWei);
  if (moreWei > 0n) {
    const ofUser = state.users.get(userKey(chainId, known?.userId ?? userId)) ?? NOTHING;
    if (exceeds(ofUser, moreWei, policy.userDayWei)) throw refusedBy('user_day');
    if (exceeds(spendingOn(state, chainId), moreWei, policy.dayWei)) throw refusedBy('day');
    if (deposit.reservedWei + moreWei > deposit.wei) throw refusedBy('deposit');
  }
  return [reserved(appId, signature)];
};

const requireRoom = ({ signatures }: Reservation, userId: string): void => {
  const ofUser = signatures.filter((one) => one.transactionId === null && one.userId === userId);
  if (ofUser.length < RPC_SIGNATURES_MAX) return;
  const detail = `${String(RPC_SIGNATURES_MAX)} operations of this nonce are signed already: take another nonce`;
  throw new Refusal('sponsorship_refused', detail);
};

/** An operation with our paymaster that a block has. */
export interface SponsoredInclusion extends OperationSlot {
  userOpHash: string;
  costWei: bigint;
  blockHash: string;
  blockNumber: number;
}

/** The cost of an operation takes the place of what was reserved for its slot. In another block, it takes the place of the former cost. */
export const settle = (state: Sponsorship, inclusion: SponsoredInclusion): SponsorshipEvent[] => {
  const { userOpHash, costWei, blockHash, blockNumber } = inclusion;
  const known = state.slots.get(keyOf(inclusion));
  if (!known || !isSigned(known, userOpHash) || isSettledBy(known, inclusion)) return [];
  const operation = { appId: state.appId, userOpHash, ...stored(inclusion) };
  return [{ type: 'SponsorshipSettled', data: { ...operation, costWei: String(costWei), blockHash, blockNumber } }];
};

/** The block left the chain: the operation may be included again, or another of its slot. */
export const reserveAgain = (
  state: Sponsorship,
  inclusion: Omit<SponsoredInclusion, 'costWei' | 'blockNumber'>,
): SponsorshipEvent[] => {
  const known = state.slots.get(keyOf(inclusion));
  const { userOpHash } = inclusion;
  const signature = known?.signatures.find((one) => one.userOpHash === userOpHash);
  if (!known || !signature || !isSettledBy(known, inclusion)) return [];
  return [reserved(state.appId, { ...signature, ...known, ...slotOf(inclusion) })];
};

/** Why none of a slot's signatures can ever be included. */
export type ReleaseReason =
  /** The nonce is used in a final block, and what used it was settled, if it was sponsored. */
  | { reason: 'nonce_used' }
  /** The time of a final block is later than every signature counts. Unix milliseconds. */
  | { reason: 'expired'; finalBlockTimeMs: number };

export const release = (state: Sponsorship, slot: OperationSlot, why: ReleaseReason): SponsorshipEvent[] => {
  const known = state.slots.get(keyOf(slot));
  const newest = known?.signatures.at(-1);
  if (known?.status.kind !== 'reserved' || !newest) return [];
  if (why.reason === 'expired' && known.validUntilMs >= why.finalBlockTimeMs) return [];
  const data = { appId: state.appId, userOpHash: newest.userOpHash, ...stored(slot), reason: why.reason };
  return [{ type: 'SponsorshipReleased', data }];
};

export const spendingOn = (state: Sponsorship, chainId: number): Spending => state.chains[chainId] ?? NOTHING;

/** Whether a further signature of this slot shares a reservation with those before it. */
export const isReserved = (state: Sponsorship, slot: OperationSlot): boolean => {
  const kind = state.slots.get(keyOf(slot))?.status.kind;
  return kind !== undefined && kind !== 'released';
};

const keyOf = ({ chainId, sender, nonce }: OperationSlot): string =>
  `${String(chainId)}/${sender.toLowerCase()}/${String(nonce)}`;
const userKey = (chainId: number, userId: string): string => `${String(chainId)}/${userId}`;
const slotOf = ({ chainId, sender, nonce }: OperationSlot): OperationSlot => ({ chainId, sender, nonce });
const stored = ({ chainId, sender, nonce }: OperationSlot) => ({ chainId, sender, nonce: String(nonce) });
const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other);

const isSigned = ({ signatures }: Reservation, hash: string): boolean =>
  signatures.some(({ userOpHash }) => userOpHash === hash);

const isSettledBy = (
  { status }: Reservation,
  { userOpHash, blockHash }: Pick<SponsoredInclusion, 'userOpHash' | 'blockHash'>,
): boolean => status.kind === 'settled' && status.userOpHash === userOpHash && status.blockHash === blockHash;

const reserved = (appId: string, signature: SignatureToReserve): SponsorshipEvent => {
  const { transactionId, userOpHash, userId, maxCostWei, validUntilMs, headBlock } = signature;
  const validUntil = new Date(validUntilMs).toISOString();
  const amounts = { maxCostWei: String(maxCostWei), validUntil, headBlock };
  return {
    type: 'SponsorshipReserved',
    data: { appId, transactionId, userOpHash, ...stored(signature), userId, ...amounts },
  };
};

const moreReserved = (known: Reservation | undefined, maxCostWei: bigint): bigint => {
  if (!known || known.status.kind === 'released') return maxCostWei;
  return known.status.kind === 'settled' ? 0n : larger(maxCostWei - known.maxCostWei, 0n);
};

const exceeds = ({ reservedWei, settledWei }: Spending, moreWei: bigint, limitWei: string | null): boolean =>
  limitWei !== null && reservedWei + settledWei + moreWei > BigInt(limitWei);

const spendingOf = (reservation: Reservation | undefined): Spending => {
  if (!reservation || reservation.status.kind === 'released') return NOTHING;
  const { status, maxCostWei } = reservation;
  return status.kind === 'settled'
    ? { reservedWei: 0n, settledWei: status.costWei, operations: 1 }
    : { reservedWei: maxCostWei, settledWei: 0n, operations: 1 };
};

const changeOf = (before: Reservation | undefined, after: Reservation): Spending => {
  const [was, is] = [spendingOf(before), spendingOf(after)];
  return {
    reservedWei: is.reservedWei - was.reservedWei,
    settledWei: is.settledWei - was.settledWei,
    operations: is.operations - was.operations,
  };
};

const sumOf = (one: Spending, other: Spending): Spending => ({
  reservedWei: one.reservedWei + other.reservedWei,
  settledWei: one.settledWei + other.settledWei,
  operations: one.operations + other.operations,
});
