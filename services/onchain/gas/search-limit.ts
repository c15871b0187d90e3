/** Limits that are tried at once, each twice the last, until one suffices. */
const AT_ONCE = 4;
/** Then so many limits between that one and the last that did not, and between two of these again. */
const STEPS = 5;
const ROUNDS = 2;

type Suffice = (limits: readonly bigint[]) => Promise<readonly boolean[]>;
interface Range {
  low: bigint;
  high: bigint;
}

/**
 * Looks upwards for a limit of gas that suffices, so that what takes little costs the node little. Returns one from which on all
 * that were tried suffice, some 3 % above the smallest at most; `low` if that does, `undefined` if `high` does not.
 */
export const searchLimit = async (range: Range, suffice: Suffice): Promise<bigint | undefined> => {
  let between = await firstDouble(range, suffice);
  for (let round = 0; between && between.low < between.high && round < ROUNDS; round += 1) {
    const limits = limitsBetween(between, STEPS).slice(1, -1);
    const suffices = await suffice(limits);
    const first = suffices.lastIndexOf(false) + 1;
    between = { low: limits[first - 1] ?? between.low, high: limits[first] ?? between.high };
  }
  return between?.high;
};

/** As `searchLimit`, with one question: what is found may be several times the smallest. */
export const searchLimitOnce = async (range: Range, suffice: Suffice): Promise<bigint | undefined> => {
  const limits = limitsBetween(range, AT_ONCE);
  const suffices = await suffice(limits);
  return limits[suffices.lastIndexOf(false) + 1];
};

/** Returns the first limit that suffices, each twice the last, and the one before it. */
const firstDouble = async ({ low, high }: Range, suffice: Suffice): Promise<Range | undefined> => {
  let before = low;
  for (let from = low; ;) {
    const limits = Array.from({ length: AT_ONCE }, (_, at) => from * 2n ** BigInt(at)).filter((limit) => limit < high);
    if (limits.length < AT_ONCE) limits.push(high);
    const first = (await suffice(limits)).lastIndexOf(false) + 1;
    const [found, last = before] = [limits[first], limits[first - 1]];
    if (found !== undefined) return { low: found === low ? found : last, high: found };
    if (limits.at(-1) === high) return undefined;
    before = last;
    from = last * 2n;
  }
};

/** From `low` to `high`, each by the same factor above the last. */
const limitsBetween = ({ low, high }: Range, steps: number): bigint[] => {
  const factor = (Number(high) / Number(low)) ** (1 / steps);
  const between = Array.from({ length: steps - 1 }, (_, step) =>
    BigInt(Math.round(Number(low) * factor ** (step + 1))),
  );
  return [low, ...between, high];
};
