/**
 * Found documents: order value and row of each, alternating, sorted by both. A flat list of numbers is the fastest to
 * read.
 */
export type PostingList = number[];

/** The first and the last order value, inclusive, with the first row of the one and the last row of the other. */
export interface Bounds {
  from: number;
  fromRow: number;
  to: number;
  toRow: number;
}

/** Whether the document at this index comes before a document of another list. */
const isBefore = (list: PostingList, at: number, other: PostingList, otherAt: number): boolean => {
  const less = (list[at] ?? 0) - (other[otherAt] ?? 0);
  return less < 0 || (less === 0 && (list[at + 1] ?? 0) < (other[otherAt + 1] ?? 0));
};

/** Returns the same documents, sorted. */
export const inOrder = (list: PostingList): PostingList => {
  let isOrdered = true;
  for (let at = 2; isOrdered && at < list.length; at += 2) isOrdered = isBefore(list, at - 2, list, at);
  if (isOrdered) return list;
  const starts = Array.from({ length: list.length / 2 }, (_, at) => 2 * at);
  starts.sort((one, other) => (isBefore(list, one, list, other) ? -1 : 1));
  return starts.flatMap((at) => list.slice(at, at + 2));
};

/** Returns the documents of both lists, which must be disjoint. */
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
