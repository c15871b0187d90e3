/** Bisects for the first index from which on a condition holds. Returns `end` if there is none. */
export const firstWhere = (from: number, end: number, holds: (at: number) => boolean): number => {
  let [low, high] = [from, end];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
};

/** The same of a list: all items after the first that satisfies `isIt` must satisfy it too. */
export const firstIndex = <Item>(items: readonly Item[], isIt: (item: Item) => boolean): number =>
  firstWhere(0, items.length, (at) => isIt(items[at] as Item));
