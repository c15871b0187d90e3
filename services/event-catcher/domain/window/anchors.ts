/** A former newest final block, kept so that a deep reorganisation finds a common ancestor. */
export interface Anchor {
  readonly number: number;
  readonly hash: string;
}

/**
 * Adds an anchor, and keeps only the oldest one of each depth 1, 2–3, 4–7, … below `newest`.
 * @param newest number of the final block from which depths are counted
 */
export const withAnchor = (anchors: readonly Anchor[], { number, hash }: Anchor, newest: number): readonly Anchor[] => {
  const depthOf = (anchor: Anchor) => Math.floor(Math.log2(Math.max(1, newest - anchor.number)));
  const all = [...anchors, { number, hash }];
  return all.filter((anchor, at) => {
    const older = all[at - 1];
    return !older || depthOf(older) !== depthOf(anchor);
  });
};
