import type { ObservedRecord, WindowBlock } from '../../../../schemas/events/chain-events.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { Semaphore } from '../semaphore.ts';
import { ContractRecords, type RecordDependencies } from './contract-records.ts';

/** EventStoreDB's client takes 15 appends at a time. */
const CONTRACTS_AT_ONCE = 15;

/** What happens to the records of a chain at once, in this order. */
export interface RecordChanges {
  /** Blocks that left the chain: what was observed in them is reverted. */
  readonly removed?: readonly WindowBlock[] | 'every block';
  /** Of what is unconfirmed: what the chain does not have, and is reverted. */
  readonly isOrphan?: (record: ObservedRecord) => boolean;
  /** In chain order for each watch. */
  readonly observed?: readonly ObservedRecord[];
  /** Of what is unconfirmed: what was read now. It is trusted, also if it was not met: it will not be read again. */
  readonly isRead?: (record: ObservedRecord) => boolean;
}

/** What was observed on one chain, by contract. */
export class ChainRecords {
  private readonly contracts = new Map<string, ContractRecords>();
  /** Those that have any. */
  private unconfirmedOf: ContractRecords[] = [];

  constructor(
    private readonly dependencies: RecordDependencies,
    private readonly chainId: number,
  ) {}

  /** Loads all of which anything may have been stored. Of what was sent before, nothing is stored after that. */
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

  /** What was appended behind the newest stored progress, and has not been met on the chain since. */
  get unconfirmed(): ObservedRecord[] {
    return this.unconfirmedOf.flatMap(({ unconfirmed }) => unconfirmed);
  }

  get areConfirmed(): boolean {
    return this.unconfirmedOf.length === 0;
  }

  /** @param position of the newest progress */
  async store({ removed, isOrphan, observed, isRead }: RecordChanges, position: Position): Promise<void> {
    if (removed) await this.revert(removed);
    if (isOrphan) for (const one of this.unconfirmedOf) await one.revert(one.unconfirmed.filter(isOrphan));
    if (observed) await this.observe(observed, position);
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

  /** All contracts at once. */
  private async observe(records: readonly ObservedRecord[], position: Position): Promise<void> {
    const byContract = Map.groupBy(records, ({ ContractAddress }) => ContractAddress);
    await Promise.all(
      Array.from(byContract, async ([address, ofContract]) => {
        const contract = await this.of(address.toLowerCase(), position);
        await contract.observe(ofContract);
      }),
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
  for (const record of records.unconfirmed) if (isRead(record)) records.confirm(record.Id);
};
