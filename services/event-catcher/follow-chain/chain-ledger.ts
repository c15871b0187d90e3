import type {
  BackfillRange,
  ChainProgressEvent,
  ObservedRecord,
  WindowBlock,
} from '../../../schemas/events/chain-events.ts';
import { NO_STREAM, type Position, type StoredEvent } from '../../../shared/event-store/event-store.ts';
import { appendSettled, toAppend } from '../../../shared/event-store/transact.ts';
import type { Window } from '../domain/local-chain.ts';
import { ContractJournal, contractStream, type JournalDependencies, type Span } from './contract-journal.ts';

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
    /** Position of the newest checkpoint. */
    private position: Position,
  ) {}

  /** The ledger as the newest checkpoint left it. */
  static async load(dependencies: JournalDependencies, chainId: number): Promise<ChainLedger> {
    const { eventStore } = dependencies;
    await eventStore.keepNewest(progressStream(chainId), 1);
    const [stored] = await eventStore.read(progressStream(chainId), { direction: 'backwards', limit: 1 });
    const ledger = new ChainLedger(dependencies, chainId, stored?.revision ?? NO_STREAM, stored?.position ?? 0);
    if (stored) {
      const { window, backfills, watchesUpTo } = (stored as StoredEvent & ChainProgressEvent).data;
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
    const stream = contractStream(this.chainId, contract);
    const recovered = await ContractJournal.recover(this.dependencies, stream, this.position);
    this.journals.set(contract, recovered);
    return recovered;
  }

  /** Blocks up to this one cannot be reorganised any more. */
  get finalized(): number {
    return this.window?.[0].number ?? 0;
  }

  /** What was appended behind the newest checkpoint, and has not been met on the chain since. */
  get unconfirmed(): ObservedRecord[] {
    return Array.from(this.journals.values()).flatMap((journal) => journal.unconfirmedRecords);
  }

  /** Stores records, all contracts at once. @returns where those of each contract are */
  async observe(records: readonly ObservedRecord[]): Promise<Map<string, Span>> {
    const spans = new Map<string, Span>();
    const byContract = Map.groupBy(records, ({ ContractAddress }) => ContractAddress);
    await Promise.all(
      Array.from(byContract, async ([address, ofContract]) => {
        const contract = address.toLowerCase();
        const span = await (await this.journal(contract)).observe(ofContract);
        if (span) spans.set(contract, span);
      }),
    );
    return spans;
  }

  /** Stores the reversals of all that was observed in these blocks, newest first as they are. */
  async revertBlocks(removed: readonly WindowBlock[]): Promise<void> {
    const contracts = new Set(removed.flatMap(({ observed }) => Object.keys(observed)));
    await Promise.all(
      Array.from(contracts, async (contract) => {
        const journal = await this.journal(contract);
        const records: ObservedRecord[] = [];
        for (const { hash, observed } of removed) {
          const span = observed[contract];
          if (span) records.push(...(await journal.standingOf(hash, span)));
        }
        await journal.revert(records);
      }),
    );
    const hashes = new Set(removed.map(({ hash }) => hash));
    await this.revertUnconfirmed(({ BlockHash }) => hashes.has(BlockHash));
  }

  /** Stores the reversals of what was appended behind the newest checkpoint and is an orphan, newest first. */
  async revertUnconfirmed(isOrphan: (record: ObservedRecord) => boolean): Promise<void> {
    for (const journal of this.journals.values()) {
      const orphans = journal.unconfirmedRecords.filter(isOrphan);
      await journal.revert(
        orphans.sort((left, right) => right.BlockNumber - left.BlockNumber || right.LogIndex - left.LogIndex),
      );
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
    this.position = appended.position;
    this.checkpointed = text;
  }

  /** A checkpoint, if the newest is a second old. */
  async checkpointNowAndThen(): Promise<void> {
    if (this.dependencies.clock.now() - this.checkpointedAtMs >= CHECKPOINT_EVERY_MS) await this.checkpoint();
  }
}

/** Adds where a block's records are to what is known of the block. */
export const addSpans = (block: WindowBlock, spans: ReadonlyMap<string, Span>): WindowBlock => {
  const observed = { ...block.observed };
  for (const [contract, [first, last]] of spans) {
    const known = observed[contract];
    observed[contract] = known ? [Math.min(known[0], first), Math.max(known[1], last)] : [first, last];
  }
  return { ...block, observed };
};
