import { setImmediate } from 'node:timers/promises';
import type { JsonObject } from '../../schemas/json.ts';
import type { EventBatch, EventPlace, Position, StoredEvent } from '../event-store/event-store.ts';
import { isLasting } from '../event-store/permanent-streams.ts';
import { LOG, logPlaces, logStates, logTiles } from '../read-models/transparency-log.ts';
import type { DocumentChange, ReadStore } from '../read-store/read-store.ts';
import { leafOf } from './leaf-entry.ts';
import { EMPTY_ROOT, type Hash } from './merkle-tree.ts';
import { hashesOf, TILE_HASHES, tilePath, type PlacedTile, type Tile, type TileId, type TreeEdge } from './tiles.ts';

const NEWEST = 'newest';
const PIECE_EVENTS = 200;

export interface LogState {
  /** Number of leaves. */
  size: number;
  root: Hash;
  /** Every lasting event up to here is a leaf, and none after it. */
  position: Position;
}

/** The Merkle tree over all lasting events, as it is kept in the read store. */
export class StoredLog {
  constructor(private readonly readStore: Pick<ReadStore, 'getMany' | 'find' | 'apply'>) {}

  async state(): Promise<LogState> {
    const stored = (await this.readStore.getMany(logStates.name, [NEWEST])).get(NEWEST);
    if (!stored) return { size: 0, root: EMPTY_ROOT, position: 0 };
    const { size, root } = stored.document as { size: number; root: string };
    return { size, root: Buffer.from(root, 'base64'), position: stored.position };
  }

  /**
   * Returns tiles in the order of their ids; empty ones where none is stored. A tile may have hashes of leaves that the
   * state does not count yet.
   */
  async tiles(ids: readonly TileId[]): Promise<Tile[]> {
    const paths = ids.map((id) => tilePath(id));
    const found = await this.readStore.getMany(logTiles.name, paths);
    return paths.map((path) =>
      Buffer.from((found.get(path)?.document['hashes'] as string | undefined) ?? '', 'base64'),
    );
  }

  /**
   * Returns the numbers of the leaves of events, from 0; `undefined` for one that the log has not got. Events of one tile
   * after each other are found by reading it once.
   */
  async leafNumbers(events: readonly StoredEvent[]): Promise<(number | undefined)[]> {
    const numbers: (number | undefined)[] = [];
    let known = new Map<string, number>();
    for (const event of events) {
      const leaf = leafOf(event).toString('base64');
      if (!known.has(leaf)) known = await this.leavesAround(event.position);
      numbers.push(known.get(leaf));
    }
    return numbers;
  }

  /** Returns the leaves of the tile in which an event of this position has its leaf, in base64, with their numbers. */
  private async leavesAround(position: Position): Promise<Map<string, number>> {
    const [place] = await this.readStore.find(logPlaces.name, {
      filter: { from: { lte: position } },
      sort: [['from', 'desc']],
      limit: 1,
    });
    if (!place) return new Map();
    const index = Number(place.id);
    const [tile = new Uint8Array()] = await this.tiles([{ level: 0, index }]);
    return new Map(hashesOf(tile).map((hash, at) => [hash.toString('base64'), index * TILE_HASHES + at]));
  }

  /**
   * Adds the lasting ones of these events as leaves.
   * @param edge of the stored tree; has the new leaves afterwards
   */
  async add(edge: TreeEdge, { events, position, newestPermanent }: Omit<EventBatch, 'caughtUp'>): Promise<void> {
    const lasting = events.filter(({ stream }) => isLasting(stream));
    const leaves = await leavesOf(lasting);
    const begun = lasting.flatMap((event, at): [number, Position][] => {
      const number = edge.size + at;
      return number % TILE_HASHES === 0 ? [[number / TILE_HASHES, event.position]] : [];
    });
    const changed = leaves.length > 0 ? edge.append(leaves) : [];
    await this.store(changed, { size: edge.size, root: edge.root(), position }, newestPermanent, begun);
  }

  /**
   * Stores tiles before the state that counts their leaves, so that a crash in between leaves a tree that is whole.
   * @param begun the index of each new tile of leaves, and the position of its first event
   */
  store(
    changed: readonly PlacedTile[],
    { size, root, position }: LogState,
    newestPermanent?: EventPlace,
    begun: readonly (readonly [index: number, from: Position])[] = [],
  ): Promise<void> {
    const change = (collection: string, id: string, document: JsonObject): DocumentChange => ({
      ...{ collection, id, position, document },
    });
    const tiles = changed.map(({ tile, ...id }) =>
      change(logTiles.name, tilePath(id), { hashes: Buffer.from(tile).toString('base64') }),
    );
    const places = begun.map(([index, from]) => change(logPlaces.name, String(index), { from }));
    const state = change(logStates.name, NEWEST, { size, root: root.toString('base64') });
    return this.readStore.apply(LOG, [...tiles, ...places, state], position, newestPermanent);
  }
}

/** Gives way to other work of this thread now and then. */
const leavesOf = async (events: readonly StoredEvent[]): Promise<Hash[]> => {
  const leaves: Hash[] = [];
  for (const [at, event] of events.entries()) {
    if (at % PIECE_EVENTS === PIECE_EVENTS - 1) await setImmediate();
    leaves.push(leafOf(event));
  }
  return leaves;
};
