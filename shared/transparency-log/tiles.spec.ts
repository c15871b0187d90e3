import { describe, expect, it } from '@jest/globals';
import { inclusionProof, leafHash, rootByInclusion, rootOf, subtreesOf } from './merkle-tree.ts';
import {
  parseTilePath,
  readProof,
  subtreeHash,
  tileOf,
  tilePath,
  TreeEdge,
  widthOf,
  type PlacedTile,
  type Tile,
  type TileId,
} from './tiles.ts';

/** Keeps tiles as a store does. */
class Tiles {
  readonly byPath = new Map<string, Tile>();
  store(tiles: readonly PlacedTile[]): void {
    for (const { tile, ...id } of tiles) this.byPath.set(tilePath(id), Buffer.from(tile));
  }
  at = (id: TileId): Tile => this.byPath.get(tilePath(id)) ?? Buffer.alloc(0);
  read = (ids: readonly TileId[]): Promise<Tile[]> => Promise.resolve(ids.map(this.at));
}
const leaves = Array.from({ length: 70_000 }, (_, at) => leafHash(String(at)));
const SIZES = [0, 1, 2, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537, 69_999];

describe('the tiles of a log', () => {
  it.each([
    [{ level: 0, index: 0 }, 256, '0/000'],
    [{ level: 1, index: 999 }, 256, '1/999'],
    [{ level: 2, index: 1_000 }, 256, '2/x001/000'],
    [{ level: 0, index: 1_234_067 }, 256, '0/x001/x234/067'],
    [{ level: 6, index: 5 }, 7, '6/005.p/7'],
    [{ level: 0, index: 1_000_000_999 }, 255, '0/x001/x000/x000/999.p/255'],
  ])('have the path %#', (id, width, path) => {
    expect(tilePath(id, width)).toBe(path);
    expect(parseTilePath(path)).toEqual({ ...id, width });
  });

  it.each([
    ...['', '0', '0/', '0/0', '0/00', '0/0000', '7/000', '00/000', '-1/000', '0/x000/001', '0/x001', '0/001/002'],
    ...['0/000.p/0', '0/000.p/256', '0/000.p/300', '0/000.p/07', '0/000.p/', '0/000.p', '0/000/', '/0/000', '0/000 '],
    '0/x999/x999/x999/x999/x999/x999/999',
  ])('have no path "%s"', (path) => {
    expect(parseTilePath(path)).toBeUndefined();
  });

  it('grow by any number of leaves, and the edge is read again at any size', async () => {
    const tiles = new Tiles();
    let edge = await TreeEdge.of(0, tiles.read);
    for (const [at, size] of SIZES.entries()) {
      tiles.store(edge.append(leaves.slice(SIZES[at - 1] ?? 0, size)));
      const subtrees = subtreesOf(0, size).map((subtree) => subtreeHash(subtree, tiles.at(tileOf(subtree))));
      expect([edge.size, edge.root()]).toEqual([size, rootOf(subtrees)]);
      edge = await TreeEdge.of(size, tiles.read);
      expect([edge.size, edge.root()]).toEqual([size, rootOf(subtrees)]);
    }
    // A store may have tiles of a larger tree.
    const smaller = await TreeEdge.of(65_537, tiles.read);
    tiles.store(smaller.append(leaves.slice(65_537)));
    const whole = await TreeEdge.of(0, tiles.read);
    whole.append(leaves);
    expect(smaller.root()).toEqual(whole.root());
  });

  it('prove each leaf', async () => {
    const tiles = new Tiles();
    const edge = await TreeEdge.of(0, tiles.read);
    tiles.store(edge.append(leaves));
    for (const index of SIZES) {
      const proof = await readProof(inclusionProof(index, edge.size), edge.size, tiles.read);
      const leaf = leaves[index] ?? leafHash('none');
      expect(rootByInclusion(leaf, { index, size: edge.size }, proof)).toEqual(edge.root());
    }
  });

  it('have a width, and no more hashes than that', async () => {
    const tiles = new Tiles();
    const edge = await TreeEdge.of(0, tiles.read);
    tiles.store(edge.append(leaves.slice(0, 300)));
    expect([0, 1].map((index) => widthOf(tiles.at({ level: 0, index })))).toEqual([256, 44]);
    expect(() => subtreeHash({ level: 0, index: 300 }, tiles.at({ level: 0, index: 1 }))).toThrow(
      'a tile of 44 hashes lacks number 44',
    );
    await expect(TreeEdge.of(301, tiles.read)).rejects.toThrow('tile 0/001 has 44 hashes, not 45');
  });
});
