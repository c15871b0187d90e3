/** How many limits are tried at once, each twice the one before, until one suffices. */
const AT_ONCE = 4;
/** In so many steps each round divides the range between the last insufficient and the first sufficient limit. */
const STEPS = 5;
const ROUNDS = 2;

type Suffice = (limits: readonly bigint[]) => Promise<readonly boolean[]>;
interface Range {
  low: bigint;
  high: bigint;
}

/**
 * Searches upwards for a sufficient gas limit, so that a cheap call costs the node little. Returns a limit at most about 3 %
 * above the smallest; all higher limits that were tried suffice, too. Returns `low` if it suffices, `undefined` if `high` does not.
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

/** Like `searchLimit`, with one question only: the limit may be several times the smallest. */
export const searchLimitOnce = async (range: Range, suffice: Suffice): Promise<bigint | undefined> => {
  const limits = limitsBetween(range, AT_ONCE);
  const suffices = await suffice(limits);
  return limits[suffices.lastIndexOf(false) + 1];
};

/** Doubles the limit until one suffices. Returns that one, and the one before it. */
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

/** Returns limits from `low` to `high`, each larger by the same factor. */
const limitsBetween = ({ low, high }: Range, steps: number): bigint[] => {
  const factor = (Number(high) / Number(low)) ** (1 / steps);
  const between = Array.from({ length: steps - 1 }, (_, step) =>
    BigInt(Math.round(Number(low) * factor ** (step + 1))),
  );
  return [low, ...between, high];
};
