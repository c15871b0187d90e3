import { fetchFailure } from '../../errors/fetch-failure.ts';
import { AnswerTooLarge, readBounded } from '../../primitives/read-bounded.ts';
import type { SignedCheckpoint } from '../checkpoints.ts';
import { consistencyProof } from '../merkle-tree.ts';
import { NotANote, openNote, parseVkey, type NoteKey } from '../signed-note.ts';
import { readProof, type TileReader } from '../tiles.ts';
import { addCheckpointBody, parseSizeBody, SIZE_TYPE } from './add-checkpoint.ts';

/** For all requests of one cosignature together. */
const COSIGNS_WITHIN_MS = 5_000;
/** Some lines of signatures, the longest of which have 4 KiB. */
const ANSWER_BYTES_MAX = 16 * 1_024;
/** The first request may tell the size, and somebody else may show the witness a checkpoint meanwhile. */
const REQUESTS_MAX = 3;
const SAID_CHARACTERS_MAX = 200;

/**
 * `away`: no answer in time. `refused`: an answer that is no cosignature. `ahead`: it says that it has cosigned a larger
 * checkpoint. `wrong`: what it gives as its cosignature is none.
 */
export type WitnessFault = 'away' | 'refused' | 'ahead' | 'wrong';

/** A witness has not cosigned a checkpoint. */
export class NotCosigned extends Error {
  override readonly name = 'NotCosigned';
  constructor(
    readonly fault: WitnessFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

interface Answer {
  status: number;
  type: string;
  body: string;
}

/** Somebody else's witness, which is shown checkpoints (C2SP tlog-witness). Nothing that it answers is believed. */
export class AskedWitness {
  readonly key: NoteKey;
  /** With the id of its key: a machine may have several witnesses. */
  readonly name: string;
  private readonly url: string;
  /** Size of the newest checkpoint that it has cosigned. It says so itself where this is not it. */
  private cosignedSize = 0;

  /** @param url below which it takes `add-checkpoint` */
  constructor({ url, vkey }: { url: string; vkey: string }) {
    this.key = parseVkey(vkey);
    this.name = `${this.key.name}+${this.key.id.toString('hex')}`;
    this.url = `${url}/add-checkpoint`;
  }

  /**
   * Returns the line of its cosignature.
   * @param tiles of the checkpoint, or of a larger one
   * @throws NotCosigned, and RangeError if a tile is too short
   */
  async cosign({ checkpoint, text, note }: SignedCheckpoint, tiles: TileReader, signal: AbortSignal): Promise<string> {
    const { size } = checkpoint;
    const within = AbortSignal.any([signal, AbortSignal.timeout(COSIGNS_WITHIN_MS)]);
    for (let requests = 0; requests < REQUESTS_MAX; requests += 1) {
      const old = this.cosignedSize;
      if (old > size)
        throw new NotCosigned(
          'ahead',
          `it has cosigned ${String(old)} leaves, more than the ${String(size)} there are`,
        );
      const proof = await readProof(consistencyProof(old, size), size, tiles);
      const answer = await this.post(addCheckpointBody({ old, proof, note }), within);
      if (answer.status === 200) {
        const line = lineIn(answer.body, text, this.key);
        this.cosignedSize = size;
        return line;
      }
      this.cosignedSize = otherSizeIn(answer, old);
    }
    throw new NotCosigned('refused', 'the size that it has cosigned is another at each request');
  }

  private async post(body: string, signal: AbortSignal): Promise<Answer> {
    try {
      const headers = { 'content-type': 'text/plain; charset=utf-8' };
      const answer = await fetch(this.url, { method: 'POST', headers, body, signal, redirect: 'error' });
      const type = (answer.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
      return { status: answer.status, type, body: (await readBounded(answer, ANSWER_BYTES_MAX)).toString() };
    } catch (cause) {
      if (cause instanceof AnswerTooLarge) throw new NotCosigned('refused', cause.message, { cause });
      throw new NotCosigned('away', fetchFailure(cause), { cause });
    }
  }
}

/** @throws NotCosigned */
const lineIn = (answer: string, text: string, key: NoteKey): string => {
  try {
    // An answer with an empty line would make another text of it.
    const opened = openNote(`${text}\n${answer}`, key);
    if (opened?.text === text) return opened.line;
  } catch (cause) {
    if (!(cause instanceof NotANote)) throw cause;
    throw new NotCosigned('wrong', cause.message, { cause });
  }
  throw new NotCosigned('wrong', `its answer has no cosignature by ${key.name} with its key`);
};

/** @throws NotCosigned unless the witness says that it has cosigned another size */
const otherSizeIn = ({ status, type, body }: Answer, old: number): number => {
  const size = status === 409 && type === SIZE_TYPE ? parseSizeBody(body) : undefined;
  if (size !== undefined && size !== old) return size;
  throw new NotCosigned('refused', `it answered ${String(status)}: ${body.slice(0, SAID_CHARACTERS_MAX).trim()}`);
};
