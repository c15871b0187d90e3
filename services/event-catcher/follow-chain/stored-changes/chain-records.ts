import type { ObservedRecord, WindowBlock } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { Semaphore } from '../../../../shared/primitives/waiting/semaphore.ts';
import { ContractRecords, type RecordDependencies } from './contract-records.ts';

/**
 * How many contracts' streams are loaded, and fenced by an append, at a time: EventStoreDB's client sends 15 at once.
 */
const CONTRACTS_AT_ONCE = 15;

/** Changes to the records (decoded logs) of a chain, stored in the order of these members. */
export interface RecordChanges {
  /** Blocks that left the chain, whose records are reverted; `every block`: all records are, even final ones. */
  readonly removed?: readonly WindowBlock[] | 'every block';
  /**
   * Whether to revert an unconfirmed record, which an earlier follower stored after its last checkpoint, because its
   * block has left the chain or cannot be read.
   */
  readonly isOrphan?: (record: ObservedRecord) => boolean;
  /**
   * Stored records to revert: the chain does not have them, or has them differently, or their blocks are read again.
   */
  readonly wrong?: readonly ObservedRecord[];
  /** Records that were read from the chain, in chain order for each watch. They are stored unless they already are. */
  readonly observed?: readonly ObservedRecord[];
  /**
   * Whether an unconfirmed record, one of an earlier follower, belongs to blocks and watches that have just been read.
   * The record is then confirmed even if the provider did not return it, because the blocks are not read again.
   */
  readonly isRead?: (record: ObservedRecord) => boolean;
}

/** The records (decoded logs) of one chain, in one stream for each contract. */
export class ChainRecords {
  private readonly contracts = new Map<string, ContractRecords>();
  /** The contracts with unconfirmed records, which an earlier follower stored after its last checkpoint. */
  private unconfirmedOf: ContractRecords[] = [];

  constructor(
    private readonly dependencies: RecordDependencies,
    private readonly chainId: number,
  ) {}

  /** Loads the given contracts, all that may have records. Then no append of an earlier follower is stored any more. */
  async load(contracts: Iterable<string>, position: Position, signal: AbortSignal): Promise<void> {
    const semaphore = new Semaphore(CONTRACTS_AT_ONCE);
    await Promise.all(
      Array.from(contracts, async (contract) => {
        await semaphore.acquire(signal);
        await this.recordsOf(contract, position);
        semaphore.release();
      }),
    );
    this.dependencies.appends.fenced();
  }

  /**
   * Returns the records that an earlier follower stored or reverted after its last checkpoint, and whose blocks have
   * not been read again.
   */
  get unconfirmed(): ObservedRecord[] {
    return this.unconfirmedOf.flatMap(({ unconfirmed }) => unconfirmed);
  }

  get areConfirmed(): boolean {
    return this.unconfirmedOf.length === 0;
  }

  /** Stores changes to records in the contracts' streams. @param position of the newest checkpoint */
  async store({ removed, isOrphan, wrong, observed, isRead }: RecordChanges, position: Position): Promise<void> {
    if (removed) await this.revert(removed);
    if (isOrphan) for (const one of this.unconfirmedOf) await one.revert(one.unconfirmed.filter(isOrphan));
    if (wrong) await this.ofContracts(wrong, position, (contract, records) => contract.revert(records));
    if (observed) await this.ofContracts(observed, position, (contract, records) => contract.observe(records));
    if (isRead)
      for (const one of this.unconfirmedOf) for (const record of one.unconfirmed.filter(isRead)) one.confirm(record);
    this.unconfirmedOf = this.unconfirmedOf.filter(({ areConfirmed }) => !areConfirmed);
  }

  private async revert(removed: readonly WindowBlock[] | 'every block'): Promise<void> {
    if (removed === 'every block') {
      for (const one of this.contracts.values()) await one.revertEverything();
      return;
    }
    const hashes = new Set(removed.map(({ hash }) => hash));
    const since = Math.min(...removed.map((block) => block.since));
    await Promise.all(Array.from(this.contracts.values(), (one) => one.revertBlocks(hashes, since)));
  }

  /** Returns the position of the newest event in the streams of the given contracts; 0 if they have no events. */
  newestOf(contracts: Iterable<string>): Position {
    return Array.from(contracts).reduce(
      (newest, contract) => Math.max(newest, this.contracts.get(contract)?.position ?? 0),
      0,
    );
  }

  /** Calls `store` for each contract with records, concurrently. */
  private async ofContracts(
    records: readonly ObservedRecord[],
    position: Position,
    store: (contract: ContractRecords, records: readonly ObservedRecord[]) => Promise<void>,
  ): Promise<void> {
    const byContract = Map.groupBy(records, ({ ContractAddress }) => ContractAddress);
    await Promise.all(
      Array.from(byContract, async ([address, ofContract]) =>
        store(await this.recordsOf(address.toLowerCase(), position), ofContract),
      ),
    );
  }

  /** Returns the records of one contract, which are loaded at the first call. @param contract lower case */
  private async recordsOf(contract: string, position: Position): Promise<ContractRecords> {
    const known = this.contracts.get(contract);
    if (known) return known;
    const { chainId } = this;
    const loaded = await ContractRecords.load(this.dependencies, { chainId, contract }, position);
    this.contracts.set(contract, loaded);
    if (!loaded.areConfirmed) this.unconfirmedOf.push(loaded);
    return loaded;
  }
}
