import type {
  BackfillRange,
  ChainProgressEvent,
  ObservedRecord,
  WindowBlock,
} from '../../../schemas/events/chain-events.ts';
import { NO_STREAM, type Position, type StoredEvent } from '../../../shared/event-store/event-store.ts';
import { appendSettled, toAppend } from '../../../shared/event-store/transact.ts';
import type { Window } from '../domain/window.ts';
import { ContractJournal, contractStream, type JournalDependencies } from './contract-journal.ts';

const CHECKPOINT_EVERY_MS = 1_000;

const progressStream = (chainId: number): string => `chain-${String(chainId)}`;

export type Progress = ChainProgressEvent['data'];

/**
 * How far one chain has been read, and the only writer of what was seen there. Changes run one at a time (`exclusively`),
 * so that a checkpoint never claims less or more than what is stored before it.
 */
export class ChainLedger {
  window: Window<WindowBlock> | undefined;
  backfills: BackfillRange[] = [];
  watchesUpTo: Position = 0;
  private readonly journals = new Map<string, ContractJournal>();
  private last: Promise<unknown> = Promise.resolve();
  private checkpointedAtMs = 0;
  /** The newest checkpoint that this process stored: the same is not stored again. */
  private checkpointed = '';

  private constructor(
    private readonly dependencies: JournalDependencies,
    readonly chainId: number,
    private revision: number,
    private checkpointPosition: Position,
  ) {}

  /** The ledger as the newest checkpoint left it. */
  static async load(dependencies: JournalDependencies, chainId: number): Promise<ChainLedger> {
    const { eventStore } = dependencies;
    await eventStore.keepNewest(progressStream(chainId), 1);
    const [stored] = await eventStore.read(progressStream(chainId), { direction: 'backwards', limit: 1 });
    const ledger = new ChainLedger(dependencies, chainId, stored?.revision ?? NO_STREAM, stored?.position ?? 0);
    if (stored) {
      const { window, backfills, watchesUpTo } = (stored as StoredEvent & ChainProgressEvent).data;
      // Version 1 says it in another way: then all that a contract has is looked through.
      const [first, ...rest] = stored.schemaVersion === 1 ? window.map((block) => ({ ...block, since: 0 })) : window;
      if (first) ledger.window = [first, ...rest];
      ledger.backfills = backfills.map((range) => ({ ...range }));
      ledger.watchesUpTo = watchesUpTo;
    }
    return ledger;
  }

  /** Runs after all changes before it. Once one has failed, all after it fail: the store is ahead of what is known here. */
  exclusively<Result>(change: () => Promise<Result>): Promise<Result> {
    const result = this.last.then(change);
    this.last = result;
    // Whoever asked hears of it; this only keeps the chain of promises from being reported as unhandled.
    result.catch(() => undefined);
    return result;
  }

  /** @param contract lower case */
  async journal(contract: string): Promise<ContractJournal> {
    const known = this.journals.get(contract);
    if (known) return known;
    const stream = contractStream(this.chainId, contract);
    const recovered = await ContractJournal.recover(this.dependencies, stream, this.position);
    this.journals.set(contract, recovered);
    return recovered;
  }

  /** Of the newest checkpoint. What is observed in a block that it does not have is stored behind it. */
  get position(): Position {
    return this.checkpointPosition;
  }

  /** Blocks up to this one cannot be reorganised any more. */
  get finalized(): number {
    return this.window?.[0].number ?? 0;
  }

  /** What was appended behind the newest checkpoint, and has not been met on the chain since. */
  get unconfirmed(): ObservedRecord[] {
    return Array.from(this.journals.values()).flatMap((journal) => journal.unconfirmedRecords);
  }

  /** Stores records, all contracts at once. */
  async observe(records: readonly ObservedRecord[]): Promise<void> {
    const byContract = Map.groupBy(records, ({ ContractAddress }) => ContractAddress);
    await Promise.all(
      Array.from(byContract, async ([address, ofContract]) => {
        const journal = await this.journal(address.toLowerCase());
        await journal.observe(ofContract);
      }),
    );
  }

  /** Stores the reversals of all that was observed in these blocks, newest first. */
  async revertBlocks(removed: readonly WindowBlock[]): Promise<void> {
    const hashes = new Set(removed.map(({ hash }) => hash));
    const since = Math.min(...removed.map((block) => block.since));
    await Promise.all(
      Array.from(this.journals.values(), async (journal) => {
        const standing = await journal.standingSince(since);
        await journal.revert(newestFirst(standing.filter(({ BlockHash }) => hashes.has(BlockHash))));
      }),
    );
    await this.revertUnconfirmed(({ BlockHash }) => hashes.has(BlockHash));
  }

  /** Stores the reversals of what was appended behind the newest checkpoint and is an orphan, newest first. */
  async revertUnconfirmed(isOrphan: (record: ObservedRecord) => boolean): Promise<void> {
    for (const journal of this.journals.values()) {
      await journal.revert(newestFirst(journal.unconfirmedRecords.filter(isOrphan)));
    }
  }

  /** Stores the reversals of everything. */
  async revertAll(): Promise<void> {
    for (const journal of this.journals.values()) await journal.revert(await journal.allStanding());
    this.settle(() => true);
  }

  /** Believes what was appended behind the newest checkpoint: no block will be read that could confirm it. */
  settle(isSettled: (record: ObservedRecord) => boolean): void {
    for (const journal of this.journals.values()) {
      for (const record of journal.unconfirmedRecords) if (isSettled(record)) journal.settle(record.Id);
    }
  }

  /**
   * Stores how far it has come. While something that was appended behind the newest checkpoint has not been met again,
   * that checkpoint stays: it is what tells it from what was confirmed.
   */
  async checkpoint(): Promise<void> {
    const { window } = this;
    const tip = window?.at(-1);
    if (!window || !tip || [...this.journals.values()].some(({ hasUnconfirmed }) => hasUnconfirmed)) return;
    const data: Progress = {
      chainId: this.chainId,
      head: tip.number,
      finalized: window[0].number,
      window: [...window],
      backfills: this.backfills.map((range) => ({ ...range })),
      watchesUpTo: this.watchesUpTo,
    };
    this.checkpointedAtMs = this.dependencies.clock.now();
    const text = JSON.stringify(data);
    if (text === this.checkpointed) return;
    const metadata = { correlationId: 'event-catcher', actor: { type: 'system', id: 'event-catcher' } } as const;
    const event = toAppend({ type: 'ChainAdvanced', data }, metadata, this.dependencies);
    const appended = await appendSettled(this.dependencies.eventStore, progressStream(this.chainId), this.revision, [
      event,
    ]);
    this.revision = appended.revision;
    this.checkpointPosition = appended.position;
    this.checkpointed = text;
  }

  /** A checkpoint, if the newest is a second old. */
  async checkpointNowAndThen(): Promise<void> {
    if (this.dependencies.clock.now() - this.checkpointedAtMs >= CHECKPOINT_EVERY_MS) await this.checkpoint();
  }
}

const newestFirst = (records: readonly ObservedRecord[]): ObservedRecord[] =>
  records.toSorted((left, right) => right.BlockNumber - left.BlockNumber || right.LogIndex - left.LogIndex);
