import type { FuzzRequest } from './fuzz-request.ts';

type NearText = (text: string, seen: readonly string[]) => string;

/** Changes one value of a body, however deep it is, to what looks like it, or is something else. */
export const ofOneLeaf =
  ([at, other]: [number, unknown]) =>
  (request: FuzzRequest, seen: readonly string[]): FuzzRequest => {
    const isNear = typeof other === 'function';
    const replace = (leaf: unknown): unknown => {
      if (!isNear) return other;
      return typeof leaf === 'string' ? (other as NearText)(leaf, seen) : leaf;
    };
    return { ...request, body: replaceLeaf(request.body, at, replace) };
  };

/** Returns JSON of which one leaf is another: a value in which there are no others. @param at modulo how many there are */
const replaceLeaf = (json: unknown, at: number, replace: (leaf: unknown) => unknown): unknown => {
  const leaves = countLeaves(json);
  let left = at % leaves;
  const inside = (value: unknown): unknown => {
    const parts = partsOf(value);
    if (parts.length === 0) return left-- === 0 ? replace(value) : value;
    const changed = parts.map(([name, part]) => [name, inside(part)] as const);
    return Array.isArray(value) ? changed.map(([, part]) => part) : Object.fromEntries(changed);
  };
  return inside(json);
};

const partsOf = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : [];

const countLeaves = (value: unknown): number => {
  const parts = partsOf(value);
  return parts.length === 0 ? 1 : parts.reduce((sum, [, part]) => sum + countLeaves(part), 0);
};
