import { existsSync, readFileSync } from 'node:fs';
import { CannotStart } from '../../../../../shared/errors/cannot-start.ts';
import { systemClock, toIso } from '../../../../../shared/primitives/clock.ts';
import { writeFileWhole } from '../../../../../shared/primitives/files/write-file-whole.ts';
import type { Checkpoint } from '../../../../../shared/transparency-log/checkpoint.ts';
import type { CosignedCheckpoint, Fork, Witness } from '../../../../../shared/transparency-log/witnesses/witness.ts';

/** Prints what happened: a line for a person, or an object for machines. */
export type Print = (outcome: string, text: string, members?: object) => void;

export const printing =
  (isJson: boolean): Print =>
  (outcome, text, members = {}) => {
    const time = toIso(systemClock.now());
    process.stdout.write(isJson ? `${JSON.stringify({ time, outcome, text, ...members })}\n` : `${time} ${text}\n`);
  };

/** The newest checkpoint that a witness has cosigned, in memory and in its file. */
export class WitnessState {
  private constructor(
    private readonly file: string,
    private readonly print: Print,
    private kept: { note: string; checkpoint: Checkpoint } | undefined,
  ) {}

  /** @throws CannotStart if the file is not a checkpoint that this witness has cosigned */
  static open(file: string, witness: Witness, print: Print): WitnessState {
    return inFile(file, () => {
      if (!existsSync(file)) return new WitnessState(file, print, undefined);
      const note = readFileSync(file, 'utf8');
      return new WitnessState(file, print, { note, checkpoint: witness.known(note) });
    });
  }

  get note(): string | undefined {
    return this.kept?.note;
  }

  get checkpoint(): Checkpoint | undefined {
    return this.kept?.checkpoint;
  }

  /** Keeps a checkpoint, on the disk first: its cosignature may leave afterwards. */
  keep({ note, checkpoint }: CosignedCheckpoint): void {
    writeFileWhole(this.file, note, 0o644);
    this.kept = { note, checkpoint };
    const { origin, size } = checkpoint;
    const root = checkpoint.root.toString('base64');
    this.print('cosigned', `cosigned ${String(size)} leaves of ${origin} with the root ${root}`, { size, root });
  }

  /** Keeps the proof of a fork beside the state, which stays as it is, and ends with exit code 1. */
  fork({ message, note }: Fork): void {
    const file = `${this.file}.fork`;
    writeFileWhole(file, note, 0o644);
    this.print('fork', `fork: ${message}; keep ${this.file} and ${file}`);
    process.exitCode = 1;
  }

  /**
   * Keeps a checkpoint of which it is not known whether it contradicts the state. Anybody can cause this, so it must not
   * replace the proof of a fork.
   */
  suspect(note: string, why: string): void {
    const file = `${this.file}.suspected`;
    writeFileWhole(file, note, 0o644);
    this.print('suspected-fork', `not cosigned: a fork, or a wrong proof of the checkpoint in ${file}: ${why}`);
  }
}

/** @throws CannotStart that names the file */
export const inFile = <Content>(file: string, read: () => Content): Content => {
  try {
    return read();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CannotStart(`${file} cannot be used: ${why}`, { cause });
  }
};
