/** So many blocks of an endpoint are compared before one block of each answer suffices. */
const COMPARED_FIRST = 20;
/** As many after a wrong hash: an endpoint that has sent one will send more. */
const COMPARED_AFTER_WRONG = 1_000;

/**
 * Decides for which blocks the hash in an endpoint's logs is compared with the block's header. Some nodes write other
 * hashes into their logs, in all blocks or in some. A header of each block would multiply the calls of a backfill, so
 * that one block of each answer is compared once the first blocks were right. The verification of final blocks compares
 * all of them where no second endpoint contradicts.
 */
export class ComparedHashes {
  private left = COMPARED_FIRST;

  /** Compares less from now on, because the endpoint takes so few requests. Endpoints with wrong hashes stay as they are. */
  takesFewRequests(): void {
    if (this.left <= COMPARED_FIRST) this.left = 0;
  }

  /** Returns the blocks of an answer to compare: the same share of the answer's beginning, middle and end. */
  select(blocks: readonly number[]): number[] {
    const count = Math.max(1, this.left);
    if (count >= blocks.length) return [...blocks];
    const step = blocks.length / count;
    const first = Math.random() * step;
    return Array.from({ length: count }, (_, at) => blocks[Math.floor(first + at * step)] ?? 0);
  }

  /** Records how many blocks had the hash of their header, and how many had another one. */
  compared({ right, wrong }: { right: number; wrong: number }): void {
    this.left = wrong > 0 ? COMPARED_AFTER_WRONG : Math.max(0, this.left - right);
  }
}
