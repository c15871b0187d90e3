import type { Position } from '../../event-store/event-store.ts';
import { COSIGNATURES, logCosignatures } from '../../read-models/transparency-log.ts';
import type { ReadStore } from '../../read-store/read-store.ts';
import type { Hash } from '../merkle-tree.ts';
import { NotANote, openNote, parseVkey, signedNote, vkeyOf, type NoteKey } from '../signed-note.ts';

const SHOWN = 'shown';

/** A checkpoint that was shown to the witnesses. */
export interface ShownCheckpoint {
  size: number;
  root: Hash;
  /** That of the log when it had this size. */
  position: Position;
  /** Lines of cosignatures, not verified. */
  lines: readonly string[];
}

/**
 * The cosignatures of the newest checkpoint, as they are kept in the read store for every process that serves them. What a
 * former holder of the lease writes late replaces nothing newer.
 */
export class StoredCosignatures {
  /** @param witnesses the keys of those whose cosignatures count */
  constructor(
    private readonly readStore: Pick<ReadStore, 'getMany' | 'apply'>,
    private readonly witnesses: readonly NoteKey[],
  ) {}

  /** Returns the newest checkpoint that was shown, with the cosignatures that have come. */
  async newest(): Promise<ShownCheckpoint | undefined> {
    const vkeys = this.witnesses.map(vkeyOf);
    const stored = await this.readStore.getMany(logCosignatures.name, [SHOWN, ...vkeys]);
    const shown = stored.get(SHOWN);
    if (!shown) return undefined;
    const { size, root } = shown.document as { size: number; root: string };
    const lines = vkeys.flatMap((vkey) => {
      const own = stored.get(vkey)?.document as { size: number; line: string } | undefined;
      return own?.size === size ? [own.line] : [];
    });
    return { size, root: Buffer.from(root, 'base64'), position: shown.position, lines };
  }

  /** Returns the lines that are cosignatures of this text by the witnesses. */
  verified(text: string, lines: readonly string[]): string[] {
    return this.witnesses.flatMap((key) => lines.find((line) => isCosignature(line, text, key)) ?? []);
  }

  /** Adds a cosignature. */
  add(witness: NoteKey, line: string, { size, position }: Omit<ShownCheckpoint, 'lines'>): Promise<void> {
    return this.apply(vkeyOf(witness), position, { size, line });
  }

  /** Says that a checkpoint was shown: from now on it is served with the cosignatures that there are. */
  markShown({ size, root, position }: Omit<ShownCheckpoint, 'lines'>): Promise<void> {
    return this.apply(SHOWN, position, { size, root: root.toString('base64') });
  }

  private apply(id: string, position: Position, document: Record<string, string | number>): Promise<void> {
    return this.readStore.apply(COSIGNATURES, [{ collection: logCosignatures.name, id, position, document }], position);
  }
}

/** @returns `undefined` without witnesses */
export const cosignaturesOf = (
  witnesses: readonly { vkey: string }[],
  readStore: Pick<ReadStore, 'getMany' | 'apply'>,
): StoredCosignatures | undefined =>
  witnesses.length === 0
    ? undefined
    : new StoredCosignatures(
        readStore,
        witnesses.map(({ vkey }) => parseVkey(vkey)),
      );

const isCosignature = (line: string, text: string, key: NoteKey): boolean => {
  try {
    return openNote(signedNote(text, [line]), key)?.line === line;
  } catch (error) {
    if (error instanceof NotANote) return false;
    throw error;
  }
};
