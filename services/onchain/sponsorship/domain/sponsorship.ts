import type { SponsorshipPolicy } from '../../../../schemas/events/account/app-events.ts';
import type { SponsorshipEvent } from '../../../../schemas/events/onchain/sponsorship-events.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { placeFor, withHeld, type HeldSignature } from './held-signatures.ts';
import { PersistentMap } from './persistent-map.ts';
import { refusedBy } from '../../sponsorship-policy/domain/sponsorship-policy.ts';
import {
  changeOf,
  isSettledBy,
  isSigned,
  moreReserved,
  reservationAfter,
  type Reservation,
  type Reserved,
} from './reservation.ts';
import { exceeds, NOTHING, sumOf, type Spending } from './spending.ts';

/** A slot: of all operations that are signed for one, the chain includes at most one. */
export interface OperationSlot {
  chainId: number;
  /** EIP-55. */
  sender: string;
  nonce: bigint;
}

/** A signature that the paymaster is about to give. */
export interface SignatureToReserve extends OperationSlot {
  /** `null` for an operation that was not submitted here. */
  transactionId: string | null;
  userOpHash: string;
  userId: string;
  maxCostWei: bigint;
  /** Unix milliseconds. */
  validUntilMs: number;
  /** The head of the chain at the time of signing. */
  headBlock: number;
}

export interface Sponsorship {
  appId: string;
  slots: PersistentMap<Reservation>;
  /** By chain id. */
  chains: Readonly<Record<number, Spending>>;
  users: PersistentMap<Spending>;
  /** By chain and user, the signatures given over `/rpc`, until they expire. */
  held: PersistentMap<readonly HeldSignature[]>;
  signatures: number;
}

const NOTHING_SPENT: Sponsorship = {
  appId: '',
  slots: PersistentMap.empty(),
  chains: {},
  users: PersistentMap.empty(),
  held: PersistentMap.empty(),
  signatures: 0,
};
/** The JSON size of one signature, with its share of the rest of the event. */
const SIGNATURE_CHARACTERS = 256;
/**
 * How many signatures one user gets over `/rpc` for one slot. Each is kept for ever and shares the reservation of the first,
 * so the caps do not bound their number. Counted by user, so that nobody can use up the slots of another user's account.
 */
const RPC_SIGNATURES_MAX = 100;

export const sponsorshipFold = {
  initial: NOTHING_SPENT,
  evolve: (state: Sponsorship, event: SponsorshipEvent, time: number): Sponsorship => {
    const slot = { ...event.data, nonce: BigInt(event.data.nonce) };
    const after = reservationAfter(state.slots.get(keyOf(slot)), event);
    if (!after) return state;
    const yielded = event.type === 'SponsorshipReserved' ? withoutPlace(state, event.data) : state;
    const held = heldAfter(state, event, time);
    return { ...withReservation(yielded, slot, after), appId: event.data.appId, held };
  },
  characters: ({ signatures }: Sponsorship): number => signatures * SIGNATURE_CHARACTERS,
};

const withReservation = (state: Sponsorship, slot: OperationSlot, after: Reservation): Sponsorship => {
  const before = state.slots.get(keyOf(slot));
  const change = changeOf(before, after);
  const user = userKey(slot.chainId, after.userId);
  return {
    ...state,
    slots: state.slots.with(keyOf(slot), after),
    chains: { ...state.chains, [slot.chainId]: sumOf(spendingOn(state, slot.chainId), change) },
    users: state.users.with(user, sumOf(state.users.get(user) ?? NOTHING, change)),
    signatures: state.signatures + after.signatures.length - (before?.signatures.length ?? 0),
  };
};

/** An operation that lost its place may still be included by anybody who has its signature: it is then settled. */
const withoutPlace = (state: Sponsorship, { chainId, inPlaceOf }: Reserved): Sponsorship => {
  if (!inPlaceOf) return state;
  const slot = { chainId, sender: inPlaceOf.sender, nonce: BigInt(inPlaceOf.nonce) };
  const known = state.slots.get(keyOf(slot));
  return known?.status.kind === 'reserved'
    ? withReservation(state, slot, { ...known, status: { kind: 'yielded' } })
    : state;
};

const heldAfter = ({ held }: Sponsorship, { type, data }: SponsorshipEvent, nowMs: number): Sponsorship['held'] => {
  if (type !== 'SponsorshipReserved' || data.transactionId !== null) return held;
  const user = userKey(data.chainId, data.userId);
  const { sender, nonce, userOpHash, validUntil } = data;
  const signature = { sender, nonce: BigInt(nonce), userOpHash, validUntilMs: Date.parse(validUntil) };
  return held.with(user, withHeld(held.get(user) ?? [], signature, nowMs));
};

/** What a reservation is checked against, in addition to the state of the app's day. */
export interface SponsorshipLimits {
  policy: Pick<SponsorshipPolicy, 'dayWei' | 'userDayWei'>;
  /** The paymaster's deposit on the chain, and how much of it all apps and days have reserved. */
  deposit: { wei: bigint; reservedWei: bigint };
  /** Hashes of operations that the paymaster signed over `/rpc` and that were sent since. */
  sent: ReadonlySet<string>;
  nowMs: number;
}

/**
 * Reserves the maximum cost of a signature, as far as it exceeds the reservation of its slot.
 * @throws Refusal sponsorship_refused with the rule `user_day`, `day` or `deposit`; without a rule if the slot has too many
 */
export const reserve = (
  state: Sponsorship,
  signature: SignatureToReserve & { appId: string },
  { policy, deposit, sent, nowMs }: SponsorshipLimits,
): SponsorshipEvent[] => {
  const { chainId, userId, appId, maxCostWei } = signature;
  const known = state.slots.get(keyOf(signature));
  if (known && isSigned(known, signature.userOpHash)) return [];
  if (known && signature.transactionId === null) requireRoom(known, userId);
  const held = signature.transactionId === null ? heldBy(state, signature, sent) : [];
  const place = placeFor(signature, held, nowMs);
  const event = reserved(appId, signature, place);
  const moreWei = moreReserved(known, maxCostWei);
  if (moreWei > 0n) {
    const after = withoutPlace(state, event.data);
    const ofUser = after.users.get(userKey(chainId, known?.userId ?? userId)) ?? NOTHING;
    if (exceeds(ofUser, moreWei, policy.userDayWei)) throw refusedBy('user_day');
    if (exceeds(spendingOn(after, chainId), moreWei, policy.dayWei)) throw refusedBy('day');
    if (deposit.reservedWei + moreWei > deposit.wei) throw refusedBy('deposit');
  }
  return [event];
};

/** Returns the signatures over `/rpc` of a user whose operations were neither included nor sent. */
export const heldBy = (
  state: Sponsorship,
  { chainId, userId }: Pick<SignatureToReserve, 'chainId' | 'userId'>,
  sent: ReadonlySet<string> = new Set(),
): (HeldSignature & { hasPlace: boolean })[] =>
  (state.held.get(userKey(chainId, userId)) ?? []).flatMap((one) => {
    const kind = state.slots.get(keyOf({ chainId, ...one }))?.status.kind;
    const isOpen = kind === 'reserved' || kind === 'yielded';
    return isOpen && !one.userOpHashes.some((hash) => sent.has(hash))
      ? [{ ...one, hasPlace: kind === 'reserved' }]
      : [];
  });

const requireRoom = ({ signatures }: Reservation, userId: string): void => {
  const ofUser = signatures.filter((one) => one.transactionId === null && one.userId === userId);
  if (ofUser.length < RPC_SIGNATURES_MAX) return;
  const detail = `${String(RPC_SIGNATURES_MAX)} operations of this nonce are signed already: take another nonce`;
  throw new Refusal('sponsorship_refused', detail);
};

/** An included operation with our paymaster. */
export interface SponsoredInclusion extends OperationSlot {
  userOpHash: string;
  costWei: bigint;
  blockHash: string;
  blockNumber: number;
}

/** Replaces the reservation of a slot by the actual cost, or the cost in an earlier block by the cost in another block. */
export const settle = (state: Sponsorship, inclusion: SponsoredInclusion): SponsorshipEvent[] => {
  const { userOpHash, costWei, blockHash, blockNumber } = inclusion;
  const known = state.slots.get(keyOf(inclusion));
  if (!known || !isSigned(known, userOpHash) || isSettledBy(known, inclusion)) return [];
  const operation = { appId: state.appId, userOpHash, ...stored(inclusion) };
  return [{ type: 'SponsorshipSettled', data: { ...operation, costWei: String(costWei), blockHash, blockNumber } }];
};

/** Reserves again after a reorganisation: the operation, or another one of its slot, may be included again. */
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

/** The reason why no signature of a slot can ever be included. */
export type ReleaseReason =
  /** The nonce is used in a final block; if the operation that used it was sponsored, it is settled. */
  | { reason: 'nonce_used' }
  /** The time of a final block, after which no signature of the slot is valid. Unix milliseconds. */
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
const reserved = (
  appId: string,
  signature: SignatureToReserve,
  place?: Pick<OperationSlot, 'sender' | 'nonce'>,
): Extract<SponsorshipEvent, { type: 'SponsorshipReserved' }> => {
  const { transactionId, userOpHash, userId, maxCostWei, validUntilMs, headBlock } = signature;
  const validUntil = new Date(validUntilMs).toISOString();
  const amounts = { maxCostWei: String(maxCostWei), validUntil, headBlock };
  return {
    type: 'SponsorshipReserved',
    data: {
      appId,
      transactionId,
      userOpHash,
      ...stored(signature),
      userId,
      ...amounts,
      ...(place && { inPlaceOf: { sender: place.sender, nonce: String(place.nonce) } }),
    },
  };
};
