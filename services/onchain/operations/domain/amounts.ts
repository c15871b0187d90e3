export const least = (first: bigint, ...others: readonly bigint[]): bigint =>
  others.reduce((one, other) => (other < one ? other : one), first);

export const largest = (first: bigint, ...others: readonly bigint[]): bigint =>
  others.reduce((one, other) => (other > one ? other : one), first);
