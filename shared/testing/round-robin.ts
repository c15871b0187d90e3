/** Returns one of a list: the first at 0, and the first again after the last. */
export const roundRobin = <T>(all: readonly T[], at: number): T => {
  const one = all[at % all.length];
  if (one === undefined) throw new Error('the list is empty');
  return one;
};
