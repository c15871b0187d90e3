import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** Whoever wants one item of a batch reads no more than these. */
const ITEMS_MAX = 500;
/** And a batch ends at this size. */
const CHARACTERS_MAX = 256 * 1_024;

interface Cut<Item> {
  charactersOf: (item: Item) => number;
  /** Whether an item must not be in one batch with the one before it; default: never. */
  isApart?: (item: Item, before: Item) => boolean;
}

/** Yields items in their order, as many together as the embedded stores keep in one row. */
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
 * The best of level 1 to 3, gzip and none for batches of 1,000 messages of 1 KB. Synchronous: a batch takes about 1 ms.
 */
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

export const compress = (content: string | Uint8Array): Buffer => zstdCompressSync(content, ZSTD);
export const decompress = (compressed: Uint8Array): Buffer => zstdDecompressSync(compressed);
