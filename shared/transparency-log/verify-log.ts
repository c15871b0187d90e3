import type { EventPlace, StoredEvent } from '../event-store/event-store.ts';
import { isLasting, placeOf } from '../event-store/permanent-streams.ts';
import { take } from '../primitives/take.ts';
import type { Checkpoint } from './checkpoint.ts';
import { leafOf } from './leaf-entry.ts';
import type { Hash } from './merkle-tree.ts';
import { hashesOf, TILE_HASHES, TreeEdge, type Tile, type TileId } from './tiles.ts';

/** How many leaves after the first difference are compared, to tell what was done. */
const LOOKED_AT = 2 * TILE_HASHES;

/** The first leaf of the event store that differs from the tiles. */
export interface Difference {
  /** `changed`: or more than 512 events were added or removed there. `removed`: or moved further than that. */
  what: 'changed' | 'removed' | 'added' | 'moved';
  /** The number of the leaf, from 0. */
  leaf: number;
  /** The event that was changed, added or moved; of a removed one, the event that is in its place now, if any. */
  event: EventPlace | undefined;
}

export interface VerifiedLog<Kept extends Checkpoint> {
  /** Number of leaves that the event store has. */
  size: number;
  root: Hash;
  /** Number of leaves that are as in the tiles. */
  compared: number;
  difference: Difference | undefined;
  /** The checkpoints that are roots of the event store's tree, and those that are not, each in the order of their sizes. */
  fitting: Kept[];
  failing: Kept[];
}

interface Expected<Kept extends Checkpoint> {
  /** Returns the hashes of leaves that were kept; empty where none were. */
  tile: (tile: TileId) => Promise<Tile>;
  checkpoints: readonly Kept[];
}

interface Leaf {
  hash: Hash;
  event: EventPlace;
}

/**
 * Computes the tree of all events, and compares it with tiles and checkpoints that were kept.
 * @param events all events of the store, in its order
 * @param onProgress is called with the number of leaves so far
 */
export const verifyLog = async <Kept extends Checkpoint>(
  events: AsyncIterable<StoredEvent>,
  { tile, checkpoints }: Expected<Kept>,
  onProgress: (leaves: number) => void = () => undefined,
): Promise<VerifiedLog<Kept>> => {
  const tree = new ComparedTree(checkpoints.toSorted((one, other) => one.size - other.size));
  const leaves = leavesOf(events);
  let difference: Difference | undefined;
  let compared = 0;
  for (let index = 0; ; index += 1) {
    const some = await take(leaves, TILE_HASHES);
    tree.append(some);
    if (!difference) {
      const kept = hashesOf(await tile({ level: 0, index }));
      const at = kept.findIndex((hash, place) => !some[place]?.hash.equals(hash));
      compared += at === -1 ? kept.length : at;
      if (at !== -1) {
        const ahead = await take(leaves, LOOKED_AT);
        tree.append(ahead);
        const before = [...kept, ...(await nextTiles(tile, index))].slice(at);
        difference = { ...differenceOf(before, [...some, ...ahead].slice(at)), leaf: index * TILE_HASHES + at };
      }
    }
    onProgress(tree.size);
    if (some.length < TILE_HASHES) return { ...tree.result(), compared, difference };
  }
};

/** The tree as far as it is computed, and what the checkpoints up to its size are to it. */
class ComparedTree<Kept extends Checkpoint> {
  private readonly edge = TreeEdge.empty();
  private readonly fitting: Kept[] = [];
  private readonly failing: Kept[] = [];

  /** @param checkpoints in the order of their sizes */
  constructor(private readonly checkpoints: readonly Kept[]) {
    this.compare();
  }

  get size(): number {
    return this.edge.size;
  }

  append(leaves: readonly Leaf[]): void {
    for (let from = 0; from < leaves.length;) {
      const next = this.checkpoints.find(({ size }) => size > this.size)?.size ?? Infinity;
      const to = Math.min(leaves.length, from + next - this.size);
      this.edge.append(leaves.slice(from, to).map(({ hash }) => hash));
      this.compare();
      from = to;
    }
  }

  result(): Omit<VerifiedLog<Kept>, 'compared' | 'difference'> {
    const larger = this.checkpoints.filter(({ size }) => size > this.size);
    const { size, fitting, failing } = this;
    return { size, root: this.edge.root(), fitting, failing: [...failing, ...larger] };
  }

  private compare(): void {
    for (const checkpoint of this.checkpoints.filter(({ size }) => size === this.size))
      (checkpoint.root.equals(this.edge.root()) ? this.fitting : this.failing).push(checkpoint);
  }
}

async function* leavesOf(events: AsyncIterable<StoredEvent>): AsyncGenerator<Leaf, void, undefined> {
  for await (const event of events) {
    if (isLasting(event.stream)) yield { hash: leafOf(event), event: placeOf(event) };
  }
}

const nextTiles = async (tile: Expected<Checkpoint>['tile'], index: number): Promise<Hash[]> =>
  (await Promise.all([1, 2].map((ahead) => tile({ level: 0, index: index + ahead })))).flatMap(hashesOf);

/** Tells what was done to the first of these leaves, which differ. */
const differenceOf = (before: readonly Hash[], now: readonly Leaf[]): Omit<Difference, 'leaf'> => {
  const [kept] = before;
  const [found] = now;
  if (!found) return { what: 'removed', event: undefined };
  const keptNow = now.findIndex(({ hash }) => kept !== undefined && hash.equals(kept));
  const foundBefore = before.findIndex((hash) => hash.equals(found.hash));
  if (keptNow === -1) return { what: foundBefore === -1 ? 'changed' : 'removed', event: found.event };
  if (foundBefore === -1) return { what: 'added', event: found.event };
  // The one that is further from its place has been moved, and the other one made room for it.
  return { what: 'moved', event: foundBefore > keptNow ? found.event : now[keptNow]?.event };
};
