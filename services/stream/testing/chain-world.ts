import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { aRecord, newContract, type StoredChange } from './catcher-stand-in.ts';
import { feedUnderTest, inAFewTurns, type MemorySubscriber } from './feed-under-test.ts';

type Deed =
  'observe' | 'observe elsewhere' | 'revert' | 'bring back' | 'publish' | 'project' | 'finalize' | 'let an hour pass';
export interface Step {
  deed: Deed;
  count: number;
  /** Published once more. */
  again: number;
  /** What else is going on gets so many turns afterwards. */
  turns: number;
}

const weights: Record<Deed, number> = {
  observe: 3,
  'observe elsewhere': 1,
  revert: 2,
  'bring back': 2,
  publish: 4,
  project: 4,
  finalize: 2,
  'let an hour pass': 2,
};

export const steps = (maxLength: number): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.record({
      deed: fc.oneof(
        ...Object.entries(weights).map(([deed, weight]) => ({ weight, arbitrary: fc.constant(deed as Deed) })),
      ),
      count: fc.integer({ min: 1, max: 30 }),
      again: fc.nat({ max: 10 }),
      turns: fc.nat({ max: 3 }),
    }),
    { maxLength },
  );

/** Later than every `fromBlock`. */
const FAR_BLOCK = 1_000;

/** One contract with reorganisations, another beside it, and a node that streams them. */
export class ChainWorld {
  readonly contractAddress = newContract();
  private readonly other = newContract();
  private readonly standing: StoredChange[] = [];
  private readonly removed: StoredChange[] = [];
  private block = 0;
  private finalized = 0;

  private constructor(readonly feed: Awaited<ReturnType<typeof feedUnderTest>>) {}

  static async after(steps: readonly Step[], { restart }: { restart: boolean }): Promise<ChainWorld> {
    const world = new ChainWorld(await feedUnderTest());
    await world.feed.catcher.register(world.contractAddress);
    await world.take(steps);
    if (restart) await world.feed.restart();
    return world;
  }

  /** Of the one contract, in position order. */
  get changes(): StoredChange[] {
    return this.feed.catcher.stored.filter(({ record }) => record.ContractAddress === this.contractAddress);
  }

  /** By which the records stand, in position order. */
  get standingPositions(): number[] {
    return this.currentFrom(0);
  }

  currentFrom(block: number): number[] {
    const wanted = this.standing.filter(({ record }) => record.BlockNumber >= block);
    return wanted.map(({ position }) => position).sort((left, right) => left - right);
  }

  /** The read model and the topic have everything. */
  async catchUp(): Promise<void> {
    await this.feed.catcher.project();
    await this.feed.catcher.publish();
  }

  async finalizeAll(): Promise<void> {
    this.block = FAR_BLOCK;
    this.observe(this.contractAddress);
    this.finalized = FAR_BLOCK + 1;
    await this.feed.catcher.finalize(this.finalized);
    await this.catchUp();
  }

  async take(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      await this.takeOne(step);
      for (let turns = 0; turns < step.turns; turns += 1) await turn();
    }
  }

  /** Everything arrives at last. @returns the positions that the subscriber was sent */
  async settle(subscriber: MemorySubscriber): Promise<number[]> {
    const { catcher } = this.feed;
    this.block = FAR_BLOCK;
    this.observe(this.contractAddress);
    const last = this.changes.at(-1)?.position;
    await catcher.project();
    await catcher.publish();
    const isLive = () => subscriber.answer?.state === 'live' || subscriber.told.length > 0;
    const positions = () => subscriber.buffer.sent.map(({ position }) => position);
    await inAFewTurns(() => positions().at(-1) === last && isLive(), 'the last change must arrive');
    await this.feed.close();
    return positions();
  }

  private async takeOne({ deed, count, again }: Step): Promise<void> {
    const { catcher, clock } = this.feed;
    switch (deed) {
      case 'observe':
        for (let more = 0; more < count; more += 1) this.observe(this.contractAddress);
        break;
      case 'observe elsewhere':
        for (let more = 0; more < count; more += 1) this.observe(this.other);
        break;
      case 'revert':
        for (const { record } of this.takeLast(this.standing, count)) {
          this.removed.push(catcher.store('reverted', record));
        }
        break;
      case 'bring back':
        for (const { record } of this.takeLast(this.removed, count)) {
          this.standing.push(catcher.store('observed', record));
        }
        break;
      case 'publish':
        await catcher.publish({ limit: count, again });
        break;
      case 'project':
        await catcher.project(count);
        break;
      case 'finalize':
        this.finalized = Math.min(this.finalized + count, this.block);
        await catcher.finalize(this.finalized);
        break;
      case 'let an hour pass':
        clock.time += 3_600_000;
    }
  }

  /** A reorganisation: the newest first, and nothing that is final. */
  private takeLast(changes: StoredChange[], count: number): StoredChange[] {
    const final = changes.findLastIndex(({ record }) => record.BlockNumber <= this.finalized);
    return changes.splice(Math.max(final + 1, changes.length - count)).reverse();
  }

  private observe(contractAddress: string): void {
    this.block += 1;
    const stored = this.feed.catcher.store('observed', aRecord({ contractAddress, block: this.block }));
    if (contractAddress === this.contractAddress) this.standing.push(stored);
  }
}
