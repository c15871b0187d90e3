/** Of one round, which are tried at once. */
const STEPS = 16;
const ROUNDS = 2;

/**
 * Returns a limit of gas from which on all that were tried suffice, some 3 % above the smallest at most; `low` if that
 * does, `undefined` if `high` does not.
 */
export const searchLimit = async (
  range: { low: bigint; high: bigint },
  suffice: (limits: readonly bigint[]) => Promise<readonly boolean[]>,
): Promise<bigint | undefined> => {
  let { low, high } = range;
  for (let round = 0; round < ROUNDS; round += 1) {
    const limits = limitsBetween(low, high);
    const suffices = await suffice(limits);
    const first = suffices.lastIndexOf(false) + 1;
    const found = limits[first];
    const before = limits[first - 1];
    if (found === undefined || before === undefined) return found;
    low = before;
    high = found;
  }
  return high;
};

/** From `low` to `high`, each by the same factor above the last. */
const limitsBetween = (low: bigint, high: bigint): bigint[] => {
  const factor = (Number(high) / Number(low)) ** (1 / STEPS);
  const between = Array.from({ length: STEPS - 1 }, (_, step) =>
    BigInt(Math.round(Number(low) * factor ** (step + 1))),
  );
  return [low, ...between, high];
};
