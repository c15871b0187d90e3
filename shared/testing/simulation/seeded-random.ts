import { hash } from 'node:crypto';

const DRAW_DIGITS = 12;

/** Everything that is left to chance in one simulation: the same seed gives the same numbers. */
export class SeededRandom {
  private state: number;
  private draws = 0;
  /** What the hashes of this seed end with. */
  private readonly end: string;

  constructor(seed: number) {
    const digest = hash('sha256', String(seed), 'buffer');
    this.state = digest.readUInt32LE(0);
    this.end = digest.toString('hex').slice(DRAW_DIGITS);
  }

  /** Returns a number from 0 up to, and without, 1. (mulberry32) */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns an integer, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** @param probability 0: never, and no number is taken */
  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.next() * list.length)];
  }

  /** Returns some of them, in another order. */
  some<T>(list: readonly T[], most: number): T[] {
    const left = [...list];
    const count = Math.min(this.between(0, most), left.length);
    return Array.from({ length: count }, () => left.splice(this.between(0, left.length - 1), 1)).flat();
  }

  /** Returns 32 bytes, `0x` hex, that no other draw of this seed gives. */
  hash(): string {
    this.draws += 1;
    return `0x${this.draws.toString(16).padStart(DRAW_DIGITS, '0')}${this.end}`;
  }
}
