import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import fc from 'fast-check';
import { aRecord, newContract, type StoredChange } from './fake-catcher.ts';
import { feedUnderTest, withinTicks, type MemorySubscriber } from './feed-under-test.ts';

type StepAction =
  | 'observe'
  | 'observe elsewhere'
  | 'revert'
  | 'observe again'
  | 'publish'
  | 'project'
  | 'finalize'
  | 'let an hour pass';
export interface Step {
  action: StepAction;
  count: number;
  /** How many published messages are published again. */
  repeat: number;
  /** How many ticks of the event loop follow the step, in which everything else goes on. */
  ticks: number;
}

const weights: Record<StepAction, number> = {
  observe: 3,
  'observe elsewhere': 1,
  revert: 2,
  'observe again': 2,
  publish: 4,
  project: 4,
  finalize: 2,
  'let an hour pass': 2,
};

export const steps = (maxLength: number): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.record({
      action: fc.oneof(
        ...Object.entries(weights).map(([action, weight]) => ({
          weight,
          arbitrary: fc.constant(action as StepAction),
        })),
      ),
      count: fc.integer({ min: 1, max: 30 }),
      repeat: fc.nat({ max: 10 }),
      ticks: fc.nat({ max: 3 }),
    }),
    { maxLength },
  );

/** Higher than every `fromBlock`. */
const FAR_BLOCK = 1_000;

/** Simulates a contract whose events are reorganised, another contract beside it, and a node that streams both. */
export class ChainSimulation {
  readonly contractAddress = newContract();
  private readonly other = newContract();
  private readonly canonical: StoredChange[] = [];
  private readonly removed: StoredChange[] = [];
  private block = 0;
  private finalized = 0;
  private withheld = 0;

  private constructor(readonly feed: Awaited<ReturnType<typeof feedUnderTest>>) {}

  static async after(steps: readonly Step[], { restart }: { restart: boolean }): Promise<ChainSimulation> {
    const simulation = new ChainSimulation(await feedUnderTest());
    await simulation.feed.catcher.register(simulation.contractAddress);
    await simulation.run(steps);
    if (restart) await simulation.feed.restart();
    return simulation;
  }

  /** All changes of the reorganised contract, in position order. */
  get changes(): StoredChange[] {
    return this.feed.catcher.stored.filter(({ record }) => record.ContractAddress === this.contractAddress);
  }

  /** The positions of the newest observations of all records that are not reverted, in order. */
  get canonicalPositions(): number[] {
    return this.canonicalPositionsFrom(0);
  }

  canonicalPositionsFrom(block: number): number[] {
    return this.canonicalFrom(block)
      .map(({ position }) => position)
      .sort((left, right) => left - right);
  }

  /** The newest observations of the records of a block and later ones that are not reverted. */
  canonicalFrom(block: number): StoredChange[] {
    return this.canonical.filter(({ record }) => record.BlockNumber >= block);
  }

  /** Projects and publishes everything. */
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

  async run(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      await this.runStep(step);
      for (let tick = 0; tick < step.ticks; tick += 1) await yieldToEventLoop();
    }
  }

  /** Stores a record of a final block that no provider gave before; nothing while no block is final. */
  observeWithheld(): void {
    if (this.finalized === 0) return;
    this.withheld += 1;
    const [block, log] = [1 + (this.withheld % this.finalized), this.withheld];
    const record = aRecord({ contractAddress: this.contractAddress, block, log });
    this.canonical.unshift(this.feed.catcher.store('observed', record));
  }

  /** Reverts a record of a final block that turned out not to be on the chain; nothing while there is none. */
  revertFinal(): void {
    const at = this.canonical.findIndex(({ record }) => record.BlockNumber <= this.finalized);
    for (const { record } of at === -1 ? [] : this.canonical.splice(at, 1)) this.feed.catcher.store('reverted', record);
  }

  /** Adds a last event, and closes the feed when the subscriber has it. @returns all positions that it was sent */
  async finish(subscriber: MemorySubscriber): Promise<number[]> {
    const { catcher } = this.feed;
    this.block = FAR_BLOCK;
    this.observe(this.contractAddress);
    const last = this.changes.at(-1)?.position;
    await catcher.project();
    await catcher.publish();
    const isLive = () => subscriber.answer?.state === 'live' || subscriber.emitted.length > 0;
    const positions = () => subscriber.buffer.sent.map(({ position }) => position);
    await withinTicks(() => positions().at(-1) === last && isLive(), 'the subscriber must be sent the last change');
    await this.feed.close();
    return positions();
  }

  private async runStep({ action, count, repeat }: Step): Promise<void> {
    const { catcher, clock } = this.feed;
    switch (action) {
      case 'observe':
        for (let index = 0; index < count; index += 1) this.observe(this.contractAddress);
        break;
      case 'observe elsewhere':
        for (let index = 0; index < count; index += 1) this.observe(this.other);
        break;
      case 'revert':
        for (const { record } of this.takeLast(this.canonical, count)) {
          this.removed.push(catcher.store('reverted', record));
        }
        break;
      case 'observe again':
        for (const { record } of this.takeLast(this.removed, count)) {
          this.canonical.push(catcher.store('observed', record));
        }
        break;
      case 'publish':
        await catcher.publish({ limit: count, repeat });
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

  /** Removes and returns the newest changes, newest first, as a reorganisation does; none that are final. */
  private takeLast(changes: StoredChange[], count: number): StoredChange[] {
    const final = changes.findLastIndex(({ record }) => record.BlockNumber <= this.finalized);
    return changes.splice(Math.max(final + 1, changes.length - count)).reverse();
  }

  private observe(contractAddress: string): void {
    this.block += 1;
    const stored = this.feed.catcher.store('observed', aRecord({ contractAddress, block: this.block }));
    if (contractAddress === this.contractAddress) this.canonical.push(stored);
  }
}
