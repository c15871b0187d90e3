import type { RegisteredWatch } from '../registrations.ts';

interface Follower {
  registered: ReadonlyMap<string, RegisteredWatch>;
  /** What is stored of a contract, and what should be. */
  observed: (contract: string) => Promise<string[]>;
  recordsOnChain: (contract: string) => string[];
}

/**
 * How what a follower has stored differs from the chain: all records of each watch, and in its order those from the block on
 * where the watch began at first. An extension backwards adds earlier blocks later, and so does a verification what was
 * withheld.
 */
export const differenceFrom = async (
  follower: Follower,
  contracts: readonly string[],
  isOrdered: boolean,
): Promise<string | undefined> => {
  for (const address of contracts) {
    const [stored, expected] = [await follower.observed(address), follower.recordsOnChain(address)];
    const missing = expected.filter((record) => !stored.includes(record));
    if (missing.length > 0) return `missing: ${missing.join()}`;
    if (stored.length > expected.length)
      return `not on the chain: ${stored.filter((one) => !expected.includes(one)).join()}`;
    for (const { watchId, firstBlock } of isOrdered ? follower.registered.values() : []) {
      const isOfFirst = (record: string) =>
        record.startsWith(`${watchId} `) && Number(record.split(' ')[1]) >= firstBlock;
      const [ordered, inOrder] = [stored.filter(isOfFirst), expected.filter(isOfFirst)];
      if (ordered.join() !== inOrder.join()) return `not in chain order: ${ordered.join()}`;
    }
  }
  return undefined;
};
