import { AnswerTooLarge, readBounded } from '../primitives/read-bounded.ts';
import { HASH_BYTES } from './merkle-tree.ts';
import { TILE_HASHES, tilePath, widthOf, type TileReader } from './tiles.ts';

const ANSWERED_WITHIN_MS = 10_000;
/** A hundred signatures have some 15 KiB. */
const CHECKPOINT_BYTES_MAX = 64 * 1_024;
const TILE_BYTES_MAX = TILE_HASHES * HASH_BYTES;

/** A log does not answer, or not what a log does: asking again may help. */
export class LogAway extends Error {
  override readonly name = 'LogAway';
}

/** A transparency log that somebody serves (C2SP tlog-tiles). Nothing that it answers is believed without a proof. */
export class RemoteLog {
  /** @param url ends in `/log` */
  constructor(
    private readonly url: string,
    private readonly signal?: AbortSignal,
  ) {}

  /** @throws LogAway */
  async checkpoint(): Promise<string> {
    return (await this.get('checkpoint', CHECKPOINT_BYTES_MAX)).toString();
  }

  /** Returns tiles in this order. @throws LogAway */
  readonly tiles: TileReader = (tiles) =>
    Promise.all(
      tiles.map(async ({ width, ...id }) => {
        // A log may have deleted a tile that was not full once it is.
        const whole = (error: unknown) => {
          if (width === TILE_HASHES || !(error instanceof LogAway)) throw error;
          return this.get(`tile/${tilePath(id)}`, TILE_BYTES_MAX);
        };
        const tile = await this.get(`tile/${tilePath(id, width)}`, TILE_BYTES_MAX).catch(whole);
        if (widthOf(tile) >= width) return tile.subarray(0, width * HASH_BYTES);
        throw new LogAway(`${this.url}/tile/${tilePath(id)} has ${String(widthOf(tile))} hashes, not ${String(width)}`);
      }),
    );

  private async get(path: string, bytesMax: number): Promise<Buffer> {
    const url = `${this.url}/${path}`;
    try {
      const signals = [AbortSignal.timeout(ANSWERED_WITHIN_MS), ...(this.signal ? [this.signal] : [])];
      const answer = await fetch(url, { signal: AbortSignal.any(signals), redirect: 'error' });
      const body = await readBounded(answer, bytesMax);
      if (answer.status === 200) return body;
      throw new LogAway(`${url} answered ${String(answer.status)}`);
    } catch (cause) {
      if (cause instanceof LogAway) throw cause;
      const what = cause instanceof AnswerTooLarge ? cause.message : 'it does not answer';
      throw new LogAway(`${url}: ${what}`, { cause });
    }
  }
}
