/** Longer input is cut to this length: no name here is as long, and each letter costs a comparison with all names. */
const COMPARED_MAX = 32;

/** Returns the name with the smallest edit distance; `undefined` if there are no names. */
export const nearestName = (given: string, names: readonly string[]): string | undefined => {
  const wanted = given.slice(0, COMPARED_MAX).toLowerCase();
  const [best] = names
    .map((name) => ({ name, changes: changesBetween(wanted, name.toLowerCase()) }))
    .sort((one, other) => one.changes - other.changes);
  return best?.name;
};

/** The Levenshtein distance. */
const changesBetween = (one: string, other: string): number => {
  let before = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = (before[column - 1] ?? 0) + Number(one[row - 1] !== other[column - 1]);
      next.push(Math.min(replaced, (before[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    before = next;
  }
  return before[other.length] ?? 0;
};
