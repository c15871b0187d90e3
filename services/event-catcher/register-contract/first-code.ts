import { ChainUnavailable, RangeTooLarge, StateUnavailable } from '../../../shared/chain/chain-reader.ts';
import { DeadlineExceeded, withinDeadline } from '../../../shared/primitives/waiting/within-deadline.ts';
import type { SupportedChain } from '../edge/ports.ts';

/** Where the code of a contract was first found. */
interface FirstCode {
  /** The first block with code or a log, as far as known; `undefined` if none was found. */
  block: number | undefined;
  /** Whether no earlier block can have had code, or at least no log of the contract. */
  isCertain: boolean;
}

/** How many equally spaced blocks are probed, besides those 2, 4, 8 … before the known code. */
const REGULAR_PROBES = 24;
const PROBES_AT_ONCE = 8;
/** The most lives of one contract that are looked for. */
const LIVES_MAX = 8;
/** How long earlier lives are looked for. */
const EARLIER_WITHIN_MS = 5_000;
const LOG_BLOCKS_FIRST = 50;
const LOG_BLOCKS_GROWTH = 10;

/**
 * Finds the first block in which an address ever had code. Code comes and goes: a contract destroys itself and is made again, an
 * account delegates to code and stops (EIP-7702). A node tells only whether there is code after a block, so that bisection finds the
 * beginning of one life. Earlier ones are then looked for in two ways:
 *
 *     block 0 ─ · ─ ─ · ─ ─[code]─ ─ · ─ ─ · ─ · · [code ──── head    · a block whose state is asked for
 *             └──────────── logs of the address ──┘
 *
 * Code in one of the probed blocks is the end of another bisection. A life between two probes is found by its logs, where the
 * providers take ranges that large; without a log it has nothing to be watched. Where they do not, it stays uncertain.
 */
export class CodeHistory {
  /** Whether there is code after a block, as far as it was requested. */
  private readonly known = new Map<number, boolean>();

  constructor(
    private readonly chain: Pick<SupportedChain, 'hasCode' | 'logsOfRange'>,
    /** Lower case. */
    private readonly contract: string,
    private endsAt: number,
    private readonly earlierWithinMs = EARLIER_WITHIN_MS,
  ) {}

  /**
   * @param hasCode whether the block `head` has code
   * @throws ChainUnavailable, StateUnavailable, DeadlineExceeded if the beginning of the last life cannot be found
   */
  async findFirst(head: number, hasCode: boolean): Promise<FirstCode> {
    this.known.set(head, hasCode);
    let block = hasCode ? await this.beginning(head) : undefined;
    this.endsAt = Math.min(this.endsAt, performance.now() + this.earlierWithinMs);
    try {
      for (let lives = 0; lives < LIVES_MAX; lives += 1) {
        const end = block ?? head;
        const earlier = (await this.probe(end)) ?? (await this.firstLog(end));
        if (earlier === undefined) return { block, isCertain: true };
        block = (await this.hasCode(earlier)) ? await this.beginning(earlier) : earlier;
      }
    } catch (error) {
      if (!isUntold(error)) throw error;
    }
    return { block, isCertain: false };
  }

  /** Finds the first block of the life that a block with code belongs to, in at most 53 steps. */
  private async beginning(withCode: number): Promise<number> {
    const without = Array.from(this.known, ([block, hasCode]) => (hasCode || block > withCode ? -1 : block));
    let from = Math.max(-1, ...without) + 1;
    let to = withCode;
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      if (await this.hasCode(middle)) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  /** Probes some blocks before `end`, the newest first. Returns one that has code. */
  private async probe(end: number): Promise<number | undefined> {
    const probes = probesBefore(end);
    for (let at = 0; at < probes.length; at += PROBES_AT_ONCE) {
      const some = probes.slice(at, at + PROBES_AT_ONCE);
      const found = await Promise.all(some.map((block) => this.hasCode(block)));
      const first = found.lastIndexOf(true);
      if (first !== -1) return some[first];
    }
    return undefined;
  }

  /** Returns the block of a log before `end`; `undefined` if there is none. @throws RangeTooLarge */
  private async firstLog(end: number): Promise<number | undefined> {
    const filter = { addresses: [this.contract], topics: [] };
    let blocks = LOG_BLOCKS_FIRST;
    for (let to = end - 1; to >= 0; to -= blocks, blocks *= LOG_BLOCKS_GROWTH) {
      const [first] = await this.within(this.chain.logsOfRange(Math.max(0, to - blocks + 1), to, filter));
      if (first) return first.blockNumber;
    }
    return undefined;
  }

  private async hasCode(block: number): Promise<boolean> {
    const known = this.known.get(block);
    if (known !== undefined) return known;
    const hasCode = await this.within(this.chain.hasCode(this.contract, block));
    this.known.set(block, hasCode);
    return hasCode;
  }

  private within<Answer>(answer: Promise<Answer>): Promise<Answer> {
    return withinDeadline('the chain', Math.max(0, this.endsAt - performance.now()), answer);
  }
}

/** Whether this error only hides earlier lives, which keeps nobody from registering. */
const isUntold = (error: unknown): boolean =>
  [ChainUnavailable, StateUnavailable, RangeTooLarge, DeadlineExceeded].some((kind) => error instanceof kind);

/** Returns the blocks to probe before another one, the newest first. */
const probesBefore = (end: number): number[] => {
  const regular = Array.from({ length: REGULAR_PROBES }, (_, at) => Math.floor((end * at) / REGULAR_PROBES));
  const near: number[] = [];
  for (let distance = 1; distance <= end; distance *= 2) near.push(end - distance);
  return [...new Set([...regular, ...near])].filter((block) => block < end).sort((left, right) => right - left);
};
