import { Refusal } from '../../../../shared/errors/refusal.ts';

/** For so many unsent operations of one user that the paymaster signed over `/rpc`, the cost is reserved. */
const PLACES = 3;
/** The paymaster signs at most so many in all: operations that have lost their place may still be included. */
const HELD_MAX = 10;

/** The paymaster's signatures over `/rpc` for one sender and nonce. */
export interface HeldSignature {
  sender: string;
  nonce: bigint;
  userOpHashes: readonly string[];
  /** The latest end of validity, in Unix milliseconds. */
  validUntilMs: number;
}
type Slot = Pick<HeldSignature, 'sender' | 'nonce'>;

const isOf = (slot: Slot, one: Slot): boolean => slot.sender === one.sender && slot.nonce === one.nonce;

/** Adds a signature to those of its user, without the expired ones. */
export const withHeld = (
  held: readonly HeldSignature[],
  { sender, nonce, userOpHash, validUntilMs }: Omit<HeldSignature, 'userOpHashes'> & { userOpHash: string },
  nowMs: number,
): readonly HeldSignature[] => {
  const slot = { sender, nonce };
  const { userOpHashes = [] } = held.find((one) => isOf(slot, one)) ?? {};
  const others = held.filter((one) => !isOf(slot, one) && one.validUntilMs >= nowMs);
  return [...others, { ...slot, userOpHashes: [...userOpHashes, userOpHash], validUntilMs }];
};

/**
 * Returns the operation that loses its place to a new one; `undefined` if a place is free.
 * @param held the user's unsent operations that can still be included, oldest first, each with whether it has a place
 * @throws Refusal sponsorship_refused
 */
export const placeFor = (
  slot: Slot,
  held: readonly (HeldSignature & { hasPlace: boolean })[],
  nowMs: number,
): HeldSignature | undefined => {
  const others = held.filter((one) => !isOf(slot, one) && one.validUntilMs >= nowMs);
  if (others.length < HELD_MAX) {
    const placed = others.filter(({ hasPlace }) => hasPlace);
    return placed.length < PLACES ? undefined : placed[0];
  }
  const soonestMs = Math.min(...others.map(({ validUntilMs }) => validUntilMs));
  const retryAfter = Math.max(1, Math.ceil((soonestMs - nowMs) / 1_000));
  const detail = `${String(HELD_MAX)} operations are signed and not sent: send one, or ask again in ${String(retryAfter)} s`;
  throw new Refusal('sponsorship_refused', detail, { retryAfter });
};
