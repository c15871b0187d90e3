/** A collection that an earlier version filled, and that no read model names any more. */
export interface FormerCollection {
  name: string;
  documents: number;
}

/** Documents of a collection have the same members, so a sample shows whether they have a `userId`. */
export const SAMPLED = 100;
/** Few enough for one transaction, or for one message within the deadline of a call. */
export const REMOVED_AT_ONCE = 1_000;
