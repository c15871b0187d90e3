/** Reserved and settled amounts, and the number of their slots. */
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

/** @param limitWei `null`: no limit */
export const exceeds = ({ reservedWei, settledWei }: Spending, moreWei: bigint, limitWei: string | null): boolean =>
  limitWei !== null && reservedWei + settledWei + moreWei > BigInt(limitWei);
