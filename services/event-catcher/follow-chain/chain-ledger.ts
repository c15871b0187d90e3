import type {
  BackfillRange,
  ChainProgressEvent,
  ObservedRecord,
  WindowBlock,
} from '../../../schemas/events/chain-events.ts';
import {
  NO_STREAM,
  type Appended,
  type EventStore,
  type Position,
  type StoredEvent,
} from '../../../shared/event-store/event-store.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { Window } from '../domain/window.ts';
import { ContractJournal, type JournalDependencies } from './contract-journal.ts';
import { Semaphore } from './semaphore.ts';

const CHECKPOINT_EVERY_MS = 1_000;
/** EventStoreDB's client takes 15 appends at a time. */
const JOURNALS_AT_ONCE = 15;

const progressStream = (chainId: number): string => `chain-${String(chainId)}`;

export type Progress = ChainProgressEvent['data'];

export interface LedgerDependencies extends JournalDependencies {
  clock: Clock;
}

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
    private readonly dependencies: LedgerDependencies,
    readonly chainId: number,
    private revision: number,
    private checkpointPosition: Position,
  ) {}

  /** The ledger as the newest checkpoint left it. */
  static async load(dependencies: LedgerDependencies, chainId: number): Promise<ChainLedger> {
    const { eventStore, appends } = dependencies;
    const stream = progressStream(chainId);
    await eventStore.keepNewest(stream, 1);
    const { newest, checkpoint } = await appends.readFenced(
      stream,
      () => readCheckpoint(eventStore, stream),
      (read) =>
        read.checkpoint
          ? { type: 'ChainAdvanced', data: { ...read.checkpoint.progress, repeats: read.checkpoint.position } }
          : { type: 'FollowerReplaced', data: { chainId } },
    );
    const ledger = new ChainLedger(dependencies, chainId, newest.revision, checkpoint?.position ?? 0);
    if (checkpoint) {
      const { window, backfills, watchesUpTo } = checkpoint.progress;
      const [first, ...rest] = window;
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
    const { chainId } = this;
    const recovered = await ContractJournal.recover(this.dependencies, { chainId, contract }, this.position);
    this.journals.set(contract, recovered);
    return recovered;
  }

  /** The journals of all contracts of which anything may have been stored. From here on nothing arrives late. */
  async recover(contracts: readonly string[], signal: AbortSignal): Promise<void> {
    const places = new Semaphore(JOURNALS_AT_ONCE);
    await Promise.all(
      contracts.map(async (contract) => {
        await places.acquire(signal);
        await this.journal(contract);
        places.release();
      }),
    );
    this.dependencies.appends.fenced();
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
    const { appends } = this.dependencies;
    const appended = await appends.append(progressStream(this.chainId), this.revision, [
      { type: 'ChainAdvanced', data },
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

/** The newest checkpoint, and where it stands: what is stored behind that is not in it. */
const readCheckpoint = async (
  eventStore: EventStore,
  stream: string,
): Promise<{ newest: Appended; checkpoint: { progress: Progress; position: Position } | undefined }> => {
  const [stored] = await eventStore.read(stream, { direction: 'backwards', limit: 1 });
  if (!stored) return { newest: { revision: NO_STREAM, position: 0 }, checkpoint: undefined };
  if (stored.type !== 'ChainAdvanced') return { newest: stored, checkpoint: undefined };
  const { repeats, ...progress } = (stored as StoredEvent & ChainProgressEvent).data;
  // Version 1 says it in another way: then all that a contract has is looked through.
  if (stored.schemaVersion === 1) progress.window = progress.window.map((block) => ({ ...block, since: 0 }));
  return { newest: stored, checkpoint: { progress, position: repeats ?? stored.position } };
};

const newestFirst = (records: readonly ObservedRecord[]): ObservedRecord[] =>
  records.toSorted((left, right) => right.BlockNumber - left.BlockNumber || right.LogIndex - left.LogIndex);
