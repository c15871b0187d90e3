import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { ExportEnd } from '../../schemas/http/account/history.ts';
import { Refusal } from '../errors/refusal.ts';
import type { Position, StoredEvent } from '../event-store/event-store.ts';
import { NO_HASH, toHistoryLine } from '../read-models/account/history-line.ts';
import { parseCheckpoint } from '../transparency-log/checkpoint.ts';
import { inclusionProof, type Hash } from '../transparency-log/merkle-tree.ts';
import { parseNote } from '../transparency-log/signed-note.ts';
import type { StoredLog } from '../transparency-log/stored-log.ts';
import { readProof, tilePath, type Tile, type TileReader } from '../transparency-log/tiles.ts';
import { toExportedItem } from './history-work.ts';
import type { SealedHistories } from './seals/sealed-histories.ts';
import { atMost } from '../primitives/at-most.ts';

/** The transparency log, as exports need it. */
export interface ExportedLog {
  stored: Pick<StoredLog, 'leafNumbers' | 'tiles'>;
  histories: Pick<SealedHistories, 'newestStored' | 'find'>;
  /** Returns the position up to which the log has every event. @throws Refusal not_caught_up */
  caughtUp: () => Promise<Position>;
  /** Returns the newest checkpoint, signed. @throws Refusal dependency_unavailable */
  checkpoint: () => Promise<string>;
}

/** Refuses because the log has not got all events of a history. */
export const logBehind = (cause?: unknown): Refusal =>
  new Refusal('not_caught_up', 'the transparency log is behind; ask again', { retryAfter: 1, cause });

/** Neighbouring leaves share almost all of their tiles and subtrees: 512 KiB of tiles, and some hundred of subtrees. */
const TILES_KEPT = 64;
const SUBTREES_KEPT = 4_096;
/** Others have a turn after as many proofs. */
const PIECE_LEAVES = 10;

/** Makes proofs that events are in the tree of a checkpoint. */
export class LogProofs {
  private readonly size: number;
  private readonly kept = new LRUCache<string, Tile>({ max: TILES_KEPT });
  private readonly subtrees = new LRUCache<string, Hash>(atMost(SUBTREES_KEPT));
  private readonly texts = new LRUCache<string, string>(atMost(SUBTREES_KEPT));

  constructor(
    private readonly log: Pick<ExportedLog, 'stored' | 'histories'>,
    readonly checkpoint: string,
  ) {
    this.size = parseCheckpoint(parseNote(checkpoint).text).size;
  }

  /**
   * Returns the proofs of leaves, in base64. Those of neighbouring leaves share their texts, so that many fit into memory.
   * @throws Refusal not_caught_up while the log is made anew
   */
  async inclusion(leaves: readonly number[]): Promise<string[][]> {
    try {
      const proofs: Hash[][] = [];
      for (const [at, leaf] of leaves.entries()) {
        if (at % PIECE_LEAVES === 0) await setImmediate();
        proofs.push(await readProof(inclusionProof(leaf, this.size), this.size, this.tiles, this.subtrees));
      }
      return proofs.map((proof) => inBase64(proof).map((text) => this.shared(text)));
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause;
      throw logBehind(cause);
    }
  }

  /** Whether the tree has a leaf of this number. */
  has(leaf: number): boolean {
    return leaf < this.size;
  }

  /** Returns what proves that a history is complete up to a seal; `null` if the seal, or the checkpoint, has not got it. */
  async completeness(seal: StoredEvent, userId: string, hashes: readonly string[]): Promise<ExportEnd['completeness']> {
    const found = await this.log.histories.find(seal, userId, hashes);
    const [leaf] = await this.log.stored.leafNumbers([seal]);
    if (!found || leaf === undefined || leaf >= this.size) return null;
    const [sealProof = []] = await this.inclusion([leaf]);
    const line = toHistoryLine(seal, NO_HASH);
    const { items, hash, index, proof } = found;
    return {
      items,
      hash,
      index,
      proof: inBase64(proof),
      seal: toExportedItem({ ...line, salt: '' }, seal, leaf),
      sealProof,
    };
  }

  private shared(text: string): string {
    const known = this.texts.get(text);
    if (known === undefined) this.texts.set(text, text);
    return known ?? text;
  }

  private readonly tiles: TileReader = async (ids) => {
    const missing = ids.filter((id) => !this.kept.has(tilePath(id)));
    const read = missing.length > 0 ? await this.log.stored.tiles(missing) : [];
    for (const [at, id] of missing.entries()) this.kept.set(tilePath(id), read[at] ?? new Uint8Array());
    return ids.map((id) => this.kept.get(tilePath(id)) ?? new Uint8Array());
  };
}

const inBase64 = (hashes: readonly Hash[]): string[] => hashes.map((hash) => hash.toString('base64'));
