import { sha256 } from '../../../../shared/primitives/ids.ts';

type Entry<Value> = readonly [key: string, value: Value];
/** A branch has a child for each hex digit of a key's hash, at its depth; a leaf has few entries. */
type Node<Value> = { children: readonly Node<Value>[] } | { entries: readonly Entry<Value>[] };

const LEAF_ENTRIES_MAX = 8;

/**
 * An immutable map: the result of `with` shares all but a few nodes with the map before, so a fold over a long stream takes as
 * long for its last event as for its first. Leaves are found by SHA-256, so nobody can choose keys that share a leaf.
 */
export class PersistentMap<Value> {
  private constructor(private readonly root: Node<Value>) {}

  static empty<Value>(): PersistentMap<Value> {
    return new PersistentMap<Value>({ entries: [] });
  }

  get(key: string): Value | undefined {
    let node = this.root;
    if ('children' in node) {
      const hash = sha256(key);
      for (let depth = 0; 'children' in node; depth += 1) node = childOf(node.children, hash, depth);
    }
    return node.entries.find(([known]) => known === key)?.[1];
  }

  with(key: string, value: Value): PersistentMap<Value> {
    return new PersistentMap(withEntry(this.root, [key, value], sha256(key), 0));
  }
}

const digitAt = (hash: string, depth: number): number => parseInt(hash.charAt(depth), 16);

const childOf = <Value>(children: readonly Node<Value>[], hash: string, depth: number): Node<Value> =>
  children[digitAt(hash, depth)] ?? { entries: [] };

const withEntry = <Value>(node: Node<Value>, entry: Entry<Value>, hash: string, depth: number): Node<Value> => {
  if ('children' in node) {
    const child = withEntry(childOf(node.children, hash, depth), entry, hash, depth + 1);
    return { children: node.children.with(digitAt(hash, depth), child) };
  }
  const entries = [...node.entries.filter(([key]) => key !== entry[0]), entry];
  if (entries.length <= LEAF_ENTRIES_MAX) return { entries };
  const branch: Node<Value> = { children: Array.from({ length: 16 }, () => ({ entries: [] })) };
  return entries.reduce<Node<Value>>((grown, one) => withEntry(grown, one, sha256(one[0]), depth), branch);
};
