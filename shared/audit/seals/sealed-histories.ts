import { inPieces } from '../../primitives/in-pieces.ts';
import { setImmediate } from 'node:timers/promises';
import { LOG_STREAM, logEvents } from '../../../schemas/events/account/log-events.ts';
import type { EventStore, Position, StoredEvent } from '../../event-store/event-store.ts';
import { readEvery } from '../../event-store/read-every.ts';
import { sha256 } from '../../primitives/ids.ts';
import { historyModel, type HistoryDocument } from '../../read-models/account/history.ts';
import { SEALS, sealStates, sealTiles } from '../../read-models/transparency-log.ts';
import type { Checkpoint, ReadStore, StoredDocument } from '../../read-store/read-store.ts';
import { FIRST_ONLY, nameInVersion } from '../../read-store/versions/stored-versions.ts';
import { storedUnder } from '../../read-store/versions/versioned-read-store.ts';
import { inclusionProof, rootByInclusion, type Hash } from '../../transparency-log/merkle-tree.ts';
import {
  hashesOf,
  parseTilePath,
  readProof,
  TILE_HASHES,
  tilePath,
  type Tile,
  type TileId,
} from '../../transparency-log/tiles.ts';
import { sealLeaf, sealLeafHash, sealTree, type HistoryHead, type SealLeaf, type SealTree } from './seal-tree.ts';

const NEWEST = 'newest';
const PAGE_USERS = 1_000;
const TILES_PER_WRITE = 100;
const PIECE_ITEMS = 200;
/** The newest event that a seal covers was stored after the second seal before. */
const SEALS_BACK = 2;
const { item, head } = historyModel.collections;
const sealed = logEvents.HistoriesSealed.data;

/** That a seal has a leaf of a history. */
export interface InSeal {
  items: number;
  hash: string;
  /** Number of the leaf. */
  index: number;
  proof: Hash[];
}

/** All histories as they are in the read store. */
export interface HistoriesNow {
  tree: SealTree;
  /** The newest event, which is never forgotten, up to which the tree has all items. */
  upTo: { id: string; position: Position };
  /** The position up to which the histories are projected; no event after `upTo` and up to this position is lasting. */
  reached: Position;
}

/** The seals of all histories: events, and in the read store the trees of the two newest. */
export class SealedHistories {
  constructor(
    private readonly eventStore: Pick<EventStore, 'read' | 'readAll'>,
    private readonly readStore: ReadStore,
  ) {}

  /** Returns the event of the newest seal; `undefined` if there is none. */
  async newest(): Promise<StoredEvent | undefined> {
    // The other event of this stream is there once.
    const events = await this.eventStore.read(LOG_STREAM, { direction: 'backwards', limit: 2 });
    return events.find(({ type }) => type === 'HistoriesSealed');
  }

  /** Returns the event of the newest seal whose tree is stored. */
  async newestStored(): Promise<StoredEvent | undefined> {
    const state = await this.state();
    if (!state) return undefined;
    const [seal] = await this.eventStore.read(LOG_STREAM, { from: state.revision, limit: 1 });
    return seal?.type === 'HistoriesSealed' ? seal : undefined;
  }

  /** Returns `undefined` before any event. */
  async treeNow(): Promise<HistoriesNow | undefined> {
    const version = await this.versionRead();
    const { event: upTo, position: reached = 0 } = (await this.checkpoint(version)) ?? {};
    return upTo && { tree: await this.treeAt(upTo.position, version), upTo, reached };
  }

  /** Returns the tree of a seal, made anew; `undefined` if its histories are not projected yet. */
  async treeOf(seal: StoredEvent): Promise<SealTree | undefined> {
    // The seal before this seal may have left out events that were stored before that seal, but none before its predecessor.
    const from = seal.revision - SEALS_BACK;
    const [earlier] = from < 0 ? [] : await this.eventStore.read(LOG_STREAM, { from, limit: 1 });
    const after = earlier?.position ?? 0;
    const version = await this.versionRead();
    const reached = (await this.checkpoint(version))?.position ?? 0;
    for await (const { id, position } of readEvery(this.eventStore, { after })) {
      if (position > Math.min(reached, seal.position)) return undefined;
      if (id === seal.metadata.causationId) return this.treeAt(position, version);
    }
    return undefined;
  }

  /** Stores the tree of a seal in place of that of the seal before the last. */
  async store(seal: StoredEvent, tree: SealTree): Promise<void> {
    const { position, revision } = seal;
    const before = await this.state();
    const slot = before ? otherSlot(before.slot) : '0';
    const changes = tree.tiles.map(({ tile, ...id }) => ({
      ...{ collection: sealTiles.name, id: `${slot}/${tilePath(id)}`, position },
      document: {
        of: `${slot}/${String(id.level)}`,
        first: id.level === 0 ? (tree.firsts[id.index] ?? '') : '',
        hashes: Buffer.from(tile).toString('base64'),
      },
    }));
    for (const some of inPieces(changes, TILES_PER_WRITE)) await this.readStore.apply(SEALS, some, position);
    const state = { collection: sealStates.name, id: NEWEST, position, document: { revision, slot } };
    await this.readStore.apply(SEALS, [state], position);
  }

  /**
   * Finds the leaf of a history in a seal.
   * @param hashes those of the items of the history, from the first
   * @returns `undefined` if the seal has no such leaf, or its tree was replaced
   */
  async find(seal: StoredEvent, userId: string, hashes: readonly string[]): Promise<InSeal | undefined> {
    const { users, root } = sealed.parse(seal.data);
    const state = await this.state();
    if (!state) return undefined;
    const slot = state.revision === seal.revision ? state.slot : otherSlot(state.slot);
    const user = sha256(userId);
    const [found] = await this.readStore.find(sealTiles.name, {
      filter: { of: `${slot}/0`, first: { lte: user } },
      sort: [['first', 'desc']],
      limit: 1,
    });
    const place = found && parseTilePath(found.id.slice(slot.length + 1));
    if (!place) return undefined;
    const leaves = new Map(hashesOf(bytesOf(found)).map((leaf, at) => [leaf.toString('base64'), at]));
    for (let items = hashes.length; items > 0; items -= 1) {
      if (items % PIECE_ITEMS === 0) await setImmediate();
      const hash = hashes[items - 1] ?? '';
      const leaf = sealLeafHash({ user, items, hash });
      const at = leaves.get(leaf.toString('base64'));
      if (at === undefined) continue;
      const index = place.index * TILE_HASHES + at;
      const proof = await this.proof(slot, index, users);
      const proven = proof && rootByInclusion(leaf, { index, size: users }, proof);
      return proven?.equals(Buffer.from(root, 'base64')) ? { items, hash, index, proof: proof ?? [] } : undefined;
    }
    return undefined;
  }

  /** @returns `undefined` where the tree was replaced meanwhile by a smaller one */
  private async proof(slot: string, index: number, users: number): Promise<Hash[] | undefined> {
    try {
      return await readProof(inclusionProof(index, users), users, (tiles) => this.tiles(slot, tiles));
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  private async state(): Promise<{ revision: number; slot: string } | undefined> {
    const stored = (await this.readStore.getMany(sealStates.name, [NEWEST])).get(NEWEST);
    return stored && (stored.document as { revision: number; slot: string });
  }

  private async tiles(slot: string, ids: readonly TileId[]): Promise<Tile[]> {
    const paths = ids.map((id) => `${slot}/${tilePath(id)}`);
    const stored = await this.readStore.getMany(sealTiles.name, paths);
    return paths.map((path) => bytesOf(stored.get(path)));
  }

  /** Returns the number of the version of the read model that queries read. A checkpoint is of one version alone. */
  private async versionRead(): Promise<number> {
    return ((await this.readStore.versions()).get(historyModel.name) ?? FIRST_ONLY).current;
  }

  private async checkpoint(version: number): Promise<Checkpoint | undefined> {
    return (await this.readStore.checkpoints()).get(nameInVersion(historyModel.name, version));
  }

  private async treeAt(position: Position, version: number): Promise<SealTree> {
    const leaves: SealLeaf[] = [];
    for await (const one of this.headsAt(position, version)) leaves.push(sealLeaf(one));
    return sealTree(leaves);
  }

  /** Yields the heads of all histories as they were at a position that the read model has reached. */
  private async *headsAt(position: Position, version: number): AsyncGenerator<HistoryHead> {
    for (let last = ''; ;) {
      const page = await storedUnder(this.readStore).find(nameInVersion(head.name, version), {
        filter: { id: { gt: last } },
        sort: [['id', 'asc']],
        limit: PAGE_USERS,
      });
      for (const { id: userId, document, position: at } of page) {
        const { count: items, hash } = head.document.parse(document);
        const then = at <= position ? { userId, items, hash } : await this.headBefore(userId, position, version);
        if (then) yield then;
      }
      if (page.length < PAGE_USERS) return;
      last = page.at(-1)?.id ?? '';
    }
  }

  /** Returns the head of a history that has changed since a position, as it was then; `undefined` if it began later. */
  private async headBefore(userId: string, position: Position, version: number): Promise<HistoryHead | undefined> {
    const [newest] = await storedUnder(this.readStore).find(nameInVersion(item.name, version), {
      filter: { userId, position: { lte: position } },
      sort: [['sequence', 'desc']],
      limit: 1,
    });
    if (!newest) return undefined;
    const { sequence, hash } = newest.document as Pick<HistoryDocument, 'sequence' | 'hash'>;
    return { userId, items: sequence + 1, hash };
  }
}

/** The trees of two seals, one after the other, are stored in two slots in turn. */
const otherSlot = (slot: string): string => (slot === '0' ? '1' : '0');

const bytesOf = (stored: StoredDocument | undefined): Tile =>
  Buffer.from((stored?.document['hashes'] as string | undefined) ?? '', 'base64');
