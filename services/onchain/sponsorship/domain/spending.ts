/** What is reserved and settled, and for how many slots. */
export interface Spending {
  reservedWei: bigint;
  settledWei: bigint;
  operations: number;
}

export const NOTHING: Spending = { reservedWei: 0n, settledWei: 0n, operations: 0 };

export const sumOf = (one: Spending, other: Spending): Spending => ({
  reservedWei: one.reservedWei + other.reservedWei,
  settledWei: one.settledWei + other.settledWei,
  operations: one.operations + other.operations,
});

/** @param limitWei `null`: there is none */
export const exceeds = ({ reservedWei, settledWei }: Spending, moreWei: bigint, limitWei: string | null): boolean =>
  limitWei !== null && reservedWei + settledWei + moreWei > BigInt(limitWei);
