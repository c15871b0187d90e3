import { Refusal, unavailable } from '../errors/refusal.ts';
import type { Position } from '../event-store/event-store.ts';
import { pause } from '../primitives/waiting/pause.ts';
import { checkpointText, type Checkpoint } from './checkpoint.ts';
import { isContinued, WrongTiles } from './is-continued.ts';
import { NoteSigner, signedNote } from './signed-note.ts';
import type { LogState, StoredLog } from './stored-log.ts';
import type { ShownCheckpoint, StoredCosignatures } from './witnesses/stored-cosignatures.ts';

/**
 * How long a checkpoint waits until witnesses were shown it. A new one must be served a second after something was
 * appended, of which the log takes a quarter.
 */
const COSIGNED_WITHIN_MS = 600;
const POLL_MS = 25;

export interface SignedCheckpoint {
  checkpoint: Checkpoint;
  /** Of the log when it had this size. */
  position: Position;
  text: string;
  /** The line of the log's signature. */
  line: string;
  /** The text with the log's signature alone. */
  note: string;
}

interface CheckpointOptions {
  log: Pick<StoredLog, 'state' | 'tiles'>;
  /** Returns the private key, 32 bytes. */
  openKey: () => Promise<Buffer>;
  /** The URL of the account service, known once it listens. */
  ownUrl: () => string;
  /** Absent without witnesses. */
  cosignatures?: StoredCosignatures | undefined;
}

/** Signs the checkpoints of the log, and none that contradicts one that this process has signed. */
export class Checkpoints {
  private signing: Promise<SignedCheckpoint> | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private seed: Buffer | undefined;
  private opened: NoteSigner | undefined;
  private newest: SignedCheckpoint | undefined;
  /** Those who wait for the cosignatures of a checkpoint of this size. */
  private readonly waiting = new Map<number, Promise<string>>();

  constructor(private readonly options: CheckpointOptions) {}

  /** @throws Refusal dependency_unavailable if the vault has not the key; it is looked for again at the next call */
  async open(): Promise<Buffer> {
    return (this.seed ??= await this.options.openKey());
  }

  /** @throws as `open` */
  async signer(): Promise<NoteSigner> {
    const seed = await this.open();
    // The log is named by where it is served, without the scheme.
    return (this.opened ??= new NoteSigner(`${new URL(this.options.ownUrl()).host}/log`, seed));
  }

  /**
   * Returns the newest checkpoint as a signed note (C2SP tlog-checkpoint), with the cosignatures of the witnesses that have
   * answered soon. While the log is made anew, that is the newest one from before.
   * @throws Refusal as `signed`
   */
  async note(): Promise<string> {
    const signed = await this.signed();
    const { size } = signed.checkpoint;
    const { cosignatures } = this.options;
    if (!cosignatures || size === 0) return signed.note;
    const waiting =
      this.waiting.get(size) ?? this.cosigned(signed, cosignatures).finally(() => this.waiting.delete(size));
    this.waiting.set(size, waiting);
    return waiting;
  }

  /**
   * Returns the newest checkpoint, signed by the log alone: once for all who ask at the same time.
   * @throws Refusal dependency_unavailable as `signer`, and where the stored tree contradicts the newest checkpoint
   */
  signed(): Promise<SignedCheckpoint> {
    this.signing ??= this.afterTheLast(() => this.signNewest()).finally(() => {
      this.signing = undefined;
    });
    return this.signing;
  }

  private async cosigned(signed: SignedCheckpoint, cosignatures: StoredCosignatures): Promise<string> {
    const until = performance.now() + COSIGNED_WITHIN_MS;
    for (;;) {
      const shown = await cosignatures.newest();
      if (shown && shown.size >= signed.checkpoint.size)
        return (await this.withLines(shown, cosignatures)) ?? signed.note;
      if (performance.now() >= until) return signed.note;
      await pause(POLL_MS);
    }
  }

  /** @returns `undefined` for a checkpoint that cannot be proven to continue the newest: the log may be made anew */
  private async withLines(shown: ShownCheckpoint, cosignatures: StoredCosignatures): Promise<string | undefined> {
    try {
      const { text, line } = await this.afterTheLast(() => this.sign(shown));
      return signedNote(text, [line, ...cosignatures.verified(text, shown.lines)]);
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }

  /** Works once the last work of this kind has ended: two at once could sign two trees. */
  private afterTheLast<Result>(work: () => Promise<Result>): Promise<Result> {
    const mine = this.last.then(work);
    this.last = Promise.allSettled([mine]);
    return mine;
  }

  private async signNewest(): Promise<SignedCheckpoint> {
    const state = await this.options.log.state();
    const { newest } = this;
    return newest && state.size < newest.checkpoint.size ? newest : this.sign(state);
  }

  private async sign({ size, root, position }: LogState): Promise<SignedCheckpoint> {
    const signer = await this.signer();
    const { newest } = this;
    const checkpoint = { origin: signer.key.name, size, root };
    if (newest && !(await this.continues(newest.checkpoint, checkpoint)))
      throw unavailable('the stored log contradicts a checkpoint that was signed', new Error(newest.note));
    if (newest?.checkpoint.size === size) return newest;
    const text = checkpointText(checkpoint);
    const line = signer.sign(text);
    const signed = { checkpoint, position, text, line, note: signedNote(text, [line]) };
    if (!newest || size > newest.checkpoint.size) this.newest = signed;
    return signed;
  }

  private async continues(newest: Checkpoint, checkpoint: Checkpoint): Promise<boolean> {
    try {
      return await isContinued(newest, checkpoint, (tiles) => this.options.log.tiles(tiles));
    } catch (cause) {
      if (!(cause instanceof WrongTiles || cause instanceof RangeError)) throw cause;
      throw unavailable('tiles of the stored log are missing or wrong', cause);
    }
  }
}
