import { parseCheckpoint, type Checkpoint } from '../checkpoint.ts';
import { isContinued } from '../is-continued.ts';
import { EMPTY_ROOT, isConsistent } from '../merkle-tree.ts';
import type { RemoteLog } from '../remote-log.ts';
import {
  NotANote,
  openNote,
  parseNote,
  signedNote,
  type NoteKey,
  type NoteSigner,
  type OpenedNote,
} from '../signed-note.ts';
import { parseAddCheckpoint, type AddCheckpoint } from './add-checkpoint.ts';

/** Two checkpoints, both signed by the log, of which none begins with the other: the log has two histories. */
export class Fork extends Error {
  override readonly name = 'Fork';
  constructor(
    message: string,
    /** The checkpoint that is not consistent with the known one, as the log has signed it. */
    readonly note: string,
  ) {
    super(message);
  }
}

/** A request to cosign is refused. */
export class NotToCosign extends Error {
  override readonly name = 'NotToCosign';
  constructor(
    /** The HTTP status that C2SP tlog-witness has for it. */
    readonly status: 400 | 403 | 404 | 409 | 422,
    message: string,
    /** With 409: the size of the newest checkpoint that is cosigned. */
    readonly knownSize?: number,
    /** With 422: the checkpoint, as the log has signed it. */
    readonly note?: string,
  ) {
    super(message);
  }
}

export interface CosignedCheckpoint {
  checkpoint: Checkpoint;
  /** With the signatures of the log and of this witness alone. */
  note: string;
  /** The line of the cosignature. */
  line: string;
}

type SignedCheckpoint = Checkpoint & OpenedNote;

/** Cosigns each checkpoint of a log that is consistent with the one before (C2SP tlog-witness). */
export class Witness {
  constructor(
    private readonly log: RemoteLog,
    private readonly logKey: NoteKey,
    private readonly signer: NoteSigner,
    /** In Unix milliseconds. */
    private readonly now: () => number,
  ) {}

  /** Reads a checkpoint that this witness has cosigned. @throws NotANote */
  known(note: string): Checkpoint {
    if (openNote(note, this.signer.key)) return this.open(note);
    throw new NotANote(`it is not cosigned by ${this.signer.key.name} with this key`);
  }

  /**
   * Looks for the next checkpoint. Two calls with the same `known` could cosign two histories: one at a time must keep what
   * it returns.
   * @param known the newest checkpoint that this witness has cosigned, if any
   * @returns `undefined` if the log has no newer one yet
   * @throws Fork, LogAway, WrongTiles, and NotANote if the log has not signed its answer
   */
  async next(known: Checkpoint | undefined): Promise<CosignedCheckpoint | undefined> {
    const note = await this.log.checkpoint();
    const current = this.open(note);
    if (known) await this.requireContinued(known, current);
    return known && current.size <= known.size ? undefined : this.cosigned(current);
  }

  /**
   * Cosigns what a log has posted. As with `next`, the caller must keep the answer before the next call, and before the
   * line leaves.
   * @param known the newest checkpoint that this witness has cosigned, if any
   * @throws NotToCosign, and Fork for another root of the known size
   */
  answer(body: string, known: Checkpoint | undefined): CosignedCheckpoint {
    const { old, proof, note } = parsed(body);
    const current = this.openPosted(note);
    const { size, root } = current;
    const knownSize = known?.size ?? 0;
    if (old > size)
      throw new NotToCosign(400, `the old size ${String(old)} is greater than that of the checkpoint, ${String(size)}`);
    if (old !== knownSize)
      throw new NotToCosign(409, `the newest checkpoint that is cosigned has ${String(knownSize)} leaves`, knownSize);
    if (known && size === knownSize && !root.equals(known.root)) throw fork(known, current);
    if (!isConsistent({ size: old, root: known?.root ?? EMPTY_ROOT }, current, proof))
      throw new NotToCosign(
        422,
        `the proof does not lead from the ${String(old)} leaves that are cosigned to the ${String(size)} of the checkpoint`,
        undefined,
        noteOf(current),
      );
    return this.cosigned(current);
  }

  /**
   * Looks by the tiles that the log serves whether a posted checkpoint, whose proof was wrong, continues the known one.
   * @throws Fork, LogAway, WrongTiles
   */
  async compare(known: Checkpoint, note: string): Promise<void> {
    await this.requireContinued(known, this.open(note));
  }

  private async requireContinued(known: Checkpoint, current: SignedCheckpoint): Promise<void> {
    if (!(await isContinued(known, current, this.log.tiles))) throw fork(known, current);
  }

  private cosigned({ text, line: byLog, origin, size, root }: SignedCheckpoint): CosignedCheckpoint {
    const line = this.signer.sign(text, Math.floor(this.now() / 1_000));
    return { checkpoint: { origin, size, root }, note: signedNote(text, [byLog, line]), line };
  }

  /** Reads a checkpoint that the log has signed. @throws NotANote */
  private open(note: string): SignedCheckpoint {
    const opened = openNote(note, this.logKey);
    if (!opened) throw new NotANote(`it is not signed by ${this.logKey.name} with this key`);
    const checkpoint = parseCheckpoint(opened.text);
    if (checkpoint.origin === this.logKey.name) return { ...checkpoint, ...opened };
    throw new NotANote(`it is a checkpoint of ${checkpoint.origin}, not of ${this.logKey.name}`);
  }

  /** @throws NotToCosign */
  private openPosted(note: string): SignedCheckpoint {
    const { origin } = originOf(note);
    if (origin !== this.logKey.name)
      throw new NotToCosign(404, `this witness is of the log ${this.logKey.name}, not of ${origin}`);
    try {
      return this.open(note);
    } catch (error) {
      if (error instanceof NotANote) throw new NotToCosign(403, error.message);
      throw error;
    }
  }
}

/** @throws NotToCosign */
const parsed = (body: string): AddCheckpoint => orBadRequest(() => parseAddCheckpoint(body));

/** @throws NotToCosign */
const originOf = (note: string): Checkpoint => orBadRequest(() => parseCheckpoint(parseNote(note).text));

const orBadRequest = <Read>(read: () => Read): Read => {
  try {
    return read();
  } catch (error) {
    if (error instanceof NotANote) throw new NotToCosign(400, error.message);
    throw error;
  }
};

/** Without the signatures of others, which anybody can add. */
const noteOf = ({ text, line }: SignedCheckpoint): string => signedNote(text, [line]);

const fork = (known: Checkpoint, current: SignedCheckpoint): Fork => {
  const both = [known, current].map(
    ({ size, root }) => `${String(size)} leaves with the root ${root.toString('base64')}`,
  );
  return new Fork(
    `${known.origin} has signed ${both.join(', and ')}, of which none begins with the other`,
    noteOf(current),
  );
};
