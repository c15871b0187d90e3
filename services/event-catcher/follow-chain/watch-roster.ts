import type { BackfillRange } from '../../../schemas/events/chain-events.ts';
import type { ChainReader } from '../../../shared/chain/chain-reader.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { ChainLedger } from './chain-ledger.ts';
import { observeWindow } from './observe-window.ts';
import type { Registration } from './registrations.ts';
import type { Watch } from './watched-event.ts';

/** The watches of a chain, and what has to be read for them. A watch is live when no range of its own is to join the head. */
export class WatchRoster {
  private readonly watches = new Map<string, Watch>();

  constructor(
    private readonly reader: ChainReader,
    private readonly ledger: ChainLedger,
    private readonly rangesMax: number,
  ) {}

  live(): Watch[] {
    const joining = new Set(this.ledger.backfills.filter(({ joins }) => joins).map(({ watchId }) => watchId));
    return [...this.watches.values()].filter(({ id }) => !joining.has(id));
  }

  /** Whether every live watch may read a range more: else they are too many for a checkpoint. */
  get mayLeap(): boolean {
    return this.ledger.backfills.length + this.live().length <= this.rangesMax;
  }

  watchOf({ watchId }: BackfillRange): Watch {
    const watch = this.watches.get(watchId);
    if (!watch) throw new Error(`a backfill of ${watchId}, which is not registered`);
    return watch;
  }

  /** A registration that the newest checkpoint knows. */
  restore(registration: Registration): void {
    if (registration.kind === 'extended') {
      const watch = this.watches.get(registration.watchId);
      if (watch) watch.startBlock = registration.startBlock;
    } else if (!this.watches.has(registration.watch.id)) {
      this.watches.set(registration.watch.id, { ...registration.watch });
    }
  }

  /**
   * New registrations, in position order, while there is room for their ranges; only inside `exclusively`.
   * @param upTo position up to which there are no others
   * @returns the ranges to read for those taken, and the registrations that have to wait
   */
  async take(
    registrations: readonly Registration[],
    upTo: Position,
  ): Promise<{ ranges: BackfillRange[]; waiting: readonly Registration[] }> {
    const { ledger } = this;
    const ranges: BackfillRange[] = [];
    const waiting = [...registrations];
    for (const registration of registrations) {
      if (ledger.backfills.length >= this.rangesMax) break;
      const range =
        registration.kind === 'registered'
          ? await this.begin(registration.watch)
          : await this.extend(registration.watchId, registration.startBlock);
      if (range) {
        ledger.backfills.push(range);
        ranges.push(range);
      }
      ledger.watchesUpTo = registration.position;
      waiting.shift();
    }
    if (waiting.length === 0) ledger.watchesUpTo = upTo;
    await ledger.checkpoint();
    return { ranges, waiting };
  }

  /** All of them are to be taken again, as if they were new. */
  beginAnew(): void {
    this.watches.clear();
    this.ledger.backfills = [];
    this.ledger.watchesUpTo = 0;
  }

  joiningRange(watch: Watch, from: number): BackfillRange {
    return { watchId: watch.id, from, next: from, to: this.ledger.finalized, joins: true };
  }

  private async begin(registered: Watch): Promise<BackfillRange | undefined> {
    if (this.watches.has(registered.id)) return undefined;
    // What is registered outlives this roster, in which a watch may come to begin earlier.
    const watch = { ...registered };
    this.watches.set(watch.id, watch);
    await this.ledger.journal(watch.contract);
    return this.joiningRange(watch, watch.startBlock);
  }

  /** Blocks that may be reorganised are never read as a range: they are observed here, or when the watch joins. */
  private async extend(watchId: string, startBlock: number): Promise<BackfillRange | undefined> {
    const watch = this.watches.get(watchId);
    if (!watch || startBlock >= watch.startBlock) return undefined;
    const before = watch.startBlock;
    watch.startBlock = startBlock;
    const joining = this.ledger.backfills.find((range) => range.joins && range.watchId === watchId);
    if (joining?.from === before && joining.next === before) {
      joining.from = startBlock;
      joining.next = startBlock;
      return undefined;
    }
    // A joining range that has begun elsewhere has everything before it in final blocks.
    if (!joining)
      await observeWindow(this.reader, this.ledger, watch, (block) => block >= startBlock && block < before);
    const to = Math.min(before - 1, this.ledger.finalized);
    return { watchId, from: startBlock, next: startBlock, to, joins: false };
  }
}
