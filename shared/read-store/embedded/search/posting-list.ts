/**
 * Documents that were found: place and row of one after the other, in order of both. So many numbers are read quickest side
 * by side.
 */
export type PostingList = number[];

/** The first and the last place, inclusive, and of their documents the first row of the one and the last of the other. */
export interface Bounds {
  from: number;
  fromRow: number;
  to: number;
  toRow: number;
}

/** Whether one of a list at this index comes before that of another. */
const isBefore = (list: PostingList, at: number, other: PostingList, otherAt: number): boolean => {
  const less = (list[at] ?? 0) - (other[otherAt] ?? 0);
  return less < 0 || (less === 0 && (list[at + 1] ?? 0) < (other[otherAt + 1] ?? 0));
};

/** Returns the same documents in order. */
export const inOrder = (list: PostingList): PostingList => {
  let isOrdered = true;
  for (let at = 2; isOrdered && at < list.length; at += 2) isOrdered = isBefore(list, at - 2, list, at);
  if (isOrdered) return list;
  const starts = Array.from({ length: list.length / 2 }, (_, at) => 2 * at);
  starts.sort((one, other) => (isBefore(list, one, list, other) ? -1 : 1));
  return starts.flatMap((at) => list.slice(at, at + 2));
};

/** Returns the documents of both lists, which have none in common. */
export const union = (one: PostingList, other: PostingList): PostingList => inOrder(one.concat(other));

/** Returns the documents that are in both lists. */
export const intersection = (one: PostingList, other: PostingList): PostingList => {
  const both: PostingList = [];
  for (let at = 0, otherAt = 0; at < one.length && otherAt < other.length;) {
    if (isBefore(one, at, other, otherAt)) at += 2;
    else if (isBefore(other, otherAt, one, at)) otherAt += 2;
    else {
      both.push(one[at] ?? 0, one[at + 1] ?? 0);
      at += 2;
      otherAt += 2;
    }
  }
  return both;
};
