/**
 * Bisects for the first item for which `isIt` holds, as it must for all after it. Returns the length when there is
 * none.
 */
export const firstIndex = <Item>(items: readonly Item[], isIt: (item: Item) => boolean): number => {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isIt(items[middle] as Item)) high = middle;
    else low = middle + 1;
  }
  return low;
};
