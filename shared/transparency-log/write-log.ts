import type { StoredEvent } from '../event-store/event-store.ts';
import { isLasting } from '../event-store/permanent-streams.ts';
import { take } from '../primitives/take.ts';
import type { Checkpoint } from './checkpoint.ts';
import { entryTextOf } from './leaf-entry.ts';
import { leafHash } from './merkle-tree.ts';
import { TILE_HASHES, tilePath, TreeEdge, widthOf, type PlacedTile } from './tiles.ts';

const LENGTH_BYTES = 2;

/** The events do not give the tree that a checkpoint is of. */
export class OtherTree extends Error {
  override readonly name = 'OtherTree';
}

interface Written {
  /** @param path such as `tile/0/000` */
  write: (path: string, bytes: Uint8Array) => void;
  /** Is called with the number of entries so far. */
  onProgress: (entries: number) => void;
}

/**
 * Writes the tiles of a log up to a checkpoint, and the entries that are its leaves, as C2SP tlog-tiles names and writes them.
 * @param events all events of the store, in its order
 * @throws OtherTree if they do not give the root of the checkpoint
 */
export const writeTiles = async (
  events: AsyncIterable<StoredEvent>,
  { size, root, origin }: Checkpoint,
  { write, onProgress }: Written,
): Promise<void> => {
  const edge = TreeEdge.empty();
  const entries = entriesOf(events);
  let changed: PlacedTile[] = [];
  while (edge.size < size) {
    const some = await take(entries, Math.min(TILE_HASHES, size - edge.size));
    if (some.length === 0) break;
    write(`tile/entries/${levelless({ level: 0, index: edge.size / TILE_HASHES }, some.length)}`, bundleOf(some));
    changed = edge.append(some.map((entry) => leafHash(entry)));
    for (const tile of changed.filter(isFull)) write(`tile/${tilePath(tile)}`, tile.tile);
    onProgress(edge.size);
  }
  for (const tile of changed.filter((one) => !isFull(one)))
    write(`tile/${tilePath(tile, widthOf(tile.tile))}`, tile.tile);
  if (edge.size !== size || !edge.root().equals(root))
    throw new OtherTree(`the events are not those of the checkpoint of ${origin} with ${String(size)} leaves`);
};

const isFull = ({ tile }: PlacedTile): boolean => widthOf(tile) === TILE_HASHES;

const levelless = (tile: Parameters<typeof tilePath>[0], width: number): string =>
  tilePath(tile, width).slice('0/'.length);

async function* entriesOf(events: AsyncIterable<StoredEvent>): AsyncGenerator<Buffer, void, undefined> {
  for await (const event of events) if (isLasting(event.stream)) yield Buffer.from(entryTextOf(event));
}

/** Each entry after its length, as two bytes, the greater first. */
const bundleOf = (entries: readonly Buffer[]): Buffer =>
  Buffer.concat(
    entries.flatMap((entry) => {
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt16BE(entry.length);
      return [length, entry];
    }),
  );
