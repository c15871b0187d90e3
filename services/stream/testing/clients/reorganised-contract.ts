import type { StreamEvent } from '../../../../schemas/socket/stream-messages.ts';
import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { aRecord, type FakeCatcher, type StoredChange } from '../fake-catcher.ts';

const AT_ONCE_MAX = 8;

/** A contract whose events are stored, removed by reorganisations, and observed again, at random. */
export class ReorganisedContract {
  private readonly current: StoredChange[] = [];
  private readonly removed: StoredChange[] = [];
  private block = 0;

  constructor(
    private readonly catcher: FakeCatcher,
    readonly contractAddress: string,
    private readonly random: SeededRandom,
  ) {}

  /** The ids of the records that are on the chain. */
  get ids(): Set<string> {
    return new Set(this.current.map(({ record }) => record.Id));
  }

  /** Does something at random, which may be published and projected at once, later, or in part. */
  async change(): Promise<void> {
    const count = this.random.between(1, AT_ONCE_MAX);
    if (this.random.chance(0.5)) for (let index = 0; index < count; index += 1) this.observe();
    if (this.random.chance(0.3))
      for (const { record } of this.current.splice(-count).reverse())
        this.removed.push(this.catcher.store('reverted', record));
    if (this.random.chance(0.3))
      for (const { record } of this.removed.splice(-count).reverse())
        this.current.push(this.catcher.store('observed', record));
    if (this.random.chance(0.7)) await this.catcher.project(this.random.between(1, 2 * AT_ONCE_MAX));
    if (this.random.chance(0.7))
      await this.catcher.publish({ limit: this.random.between(1, 2 * AT_ONCE_MAX), repeat: this.random.between(0, 4) });
  }

  /** Stores one more event, and brings everything to the clients. @returns its id */
  async publishAll(): Promise<string> {
    const { record } = this.observe();
    await this.catcher.project();
    await this.catcher.publish();
    return record.Id;
  }

  private observe(): StoredChange {
    this.block += 1;
    const { contractAddress } = this;
    const stored = this.catcher.store('observed', aRecord({ contractAddress, block: this.block }));
    this.current.push(stored);
    return stored;
  }
}

/** What a client has of a channel, which recognises repeats by their cursor. */
export class FoldedEvents {
  readonly ids = new Set<string>();
  /** What came out of order, as sentences. */
  readonly violations: string[] = [];
  private readonly known = new Set<string>();

  take({ change, cursor, event: { Id } }: StreamEvent): void {
    if (this.known.has(cursor)) return;
    this.known.add(cursor);
    if (change === 'observed') {
      if (this.ids.has(Id)) this.violations.push(`${Id} was observed although it was there`);
      this.ids.add(Id);
    } else if (!this.ids.delete(Id)) {
      this.violations.push(`${Id} was reverted although it was not there`);
    }
  }
}
