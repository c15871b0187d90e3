import type { ObservedRecord, WindowBlock } from '../../../../schemas/events/chain-events.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { Semaphore } from '../../../../shared/primitives/semaphore.ts';
import { ContractRecords, type RecordDependencies } from './contract-records.ts';

/** EventStoreDB's client sends 15 appends at a time. */
const CONTRACTS_AT_ONCE = 15;

/** Changes to the records of a chain, which are stored in this order. */
export interface RecordChanges {
  /** Blocks that left the chain. What was observed in them is reverted. */
  readonly removed?: readonly WindowBlock[] | 'every block';
  /** Whether the block of an unconfirmed record left the chain. Such records are reverted. */
  readonly isOrphan?: (record: ObservedRecord) => boolean;
  /** Stored records that are not on the chain, though it has their block, or that are of another block. They are reverted. */
  readonly wrong?: readonly ObservedRecord[];
  /** Records that were read from the chain, in chain order for each watch. */
  readonly observed?: readonly ObservedRecord[];
  /**
   * Whether an unconfirmed record is of blocks and watches that have been read now. Such records are confirmed, even if
   * the provider did not return them, because they will not be read again.
   */
  readonly isRead?: (record: ObservedRecord) => boolean;
}

/** The records of one chain, by contract. */
export class ChainRecords {
  private readonly contracts = new Map<string, ContractRecords>();
  /** The contracts that have unconfirmed records. */
  private unconfirmedOf: ContractRecords[] = [];

  constructor(
    private readonly dependencies: RecordDependencies,
    private readonly chainId: number,
  ) {}

  /**
   * Loads every contract of which records may have been stored. After that, no append of an earlier follower can be
   * stored.
   */
  async load(contracts: Iterable<string>, position: Position, signal: AbortSignal): Promise<void> {
    const semaphore = new Semaphore(CONTRACTS_AT_ONCE);
    await Promise.all(
      Array.from(contracts, async (contract) => {
        await semaphore.acquire(signal);
        await this.of(contract, position);
        semaphore.release();
      }),
    );
    this.dependencies.appends.fenced();
  }

  /** The records that were appended after the newest stored progress, and not found on the chain since. */
  get unconfirmed(): ObservedRecord[] {
    return this.unconfirmedOf.flatMap(({ unconfirmed }) => unconfirmed);
  }

  get areConfirmed(): boolean {
    return this.unconfirmedOf.length === 0;
  }

  /** @param position of the newest progress */
  async store({ removed, isOrphan, wrong, observed, isRead }: RecordChanges, position: Position): Promise<void> {
    if (removed) await this.revert(removed);
    if (isOrphan) for (const one of this.unconfirmedOf) await one.revert(one.unconfirmed.filter(isOrphan));
    if (wrong) await this.ofContracts(wrong, position, (contract, records) => contract.revert(records));
    if (observed) await this.ofContracts(observed, position, (contract, records) => contract.observe(records));
    if (isRead) for (const one of this.unconfirmedOf) confirmRead(one, isRead);
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

  /** Position of the newest event that these contracts have, as far as anything was stored of them. */
  newestOf(contracts: Iterable<string>): Position {
    return Array.from(contracts).reduce(
      (newest, contract) => Math.max(newest, this.contracts.get(contract)?.position ?? 0),
      0,
    );
  }

  /** Stores changes to the records of all contracts at the same time. */
  private async ofContracts(
    records: readonly ObservedRecord[],
    position: Position,
    store: (contract: ContractRecords, records: readonly ObservedRecord[]) => Promise<void>,
  ): Promise<void> {
    const byContract = Map.groupBy(records, ({ ContractAddress }) => ContractAddress);
    await Promise.all(
      Array.from(byContract, async ([address, ofContract]) =>
        store(await this.of(address.toLowerCase(), position), ofContract),
      ),
    );
  }

  /** @param contract lower case */
  private async of(contract: string, position: Position): Promise<ContractRecords> {
    const known = this.contracts.get(contract);
    if (known) return known;
    const { chainId } = this;
    const loaded = await ContractRecords.load(this.dependencies, { chainId, contract }, position);
    this.contracts.set(contract, loaded);
    if (!loaded.areConfirmed) this.unconfirmedOf.push(loaded);
    return loaded;
  }
}

const confirmRead = (records: ContractRecords, isRead: (record: ObservedRecord) => boolean): void => {
  for (const record of records.unconfirmed) if (isRead(record)) records.confirm(record);
};
