/** A block that was the newest final one. */
export interface Anchor {
  readonly number: number;
  readonly hash: string;
}

/**
 * Adds a block that is newer than all others. Of those that are 1, 2 to 3, 4 to 7, … blocks older the oldest stays, so that there are
 * few, and one that is about twice as deep as any block. @param newest what they are older than
 */
export const withAnchor = (anchors: readonly Anchor[], { number, hash }: Anchor, newest: number): readonly Anchor[] => {
  const depthOf = (anchor: Anchor) => Math.floor(Math.log2(Math.max(1, newest - anchor.number)));
  const all = [...anchors, { number, hash }];
  return all.filter((anchor, at) => {
    const older = all[at - 1];
    return !older || depthOf(older) !== depthOf(anchor);
  });
};
