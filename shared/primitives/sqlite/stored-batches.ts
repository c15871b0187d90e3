import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** Maximum items of a batch: reading one item means reading its batch. */
const ITEMS_MAX = 500;
/** A batch also ends at this size. */
const CHARACTERS_MAX = 256 * 1_024;

interface Cut<Item> {
  charactersOf: (item: Item) => number;
  /** Whether an item must not share a batch with the item before it. Default: never. */
  isApart?: (item: Item, before: Item) => boolean;
}

/** Yields items in their order, grouped into the batches that the embedded stores keep in one row each. */
export function* batchesOf<Item>(
  items: Iterable<Item>,
  { charactersOf, isApart = () => false }: Cut<Item>,
): Generator<Item[]> {
  let batch: Item[] = [];
  let characters = 0;
  for (const item of items) {
    const before = batch.at(-1);
    const isFull = batch.length === ITEMS_MAX || characters >= CHARACTERS_MAX;
    if (before !== undefined && (isFull || isApart(item, before))) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(item);
    characters += charactersOf(item);
  }
  if (batch.length > 0) yield batch;
}

/**
 * The best of levels 1 to 3, gzip and no compression for batches of 1,000 messages of 1 KB. Synchronous: takes about 1
 * ms.
 */
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

export const compress = (content: string | Uint8Array): Buffer => zstdCompressSync(content, ZSTD);
export const decompress = (compressed: Uint8Array): Buffer => zstdDecompressSync(compressed);
