import type { ChainEvent, ObservedRecord } from '../../../../schemas/events/chain-events.ts';
import {
  NO_STREAM,
  type Appended,
  type EventStore,
  type Position,
  type StoredEvent,
} from '../../../../shared/event-store/event-store.ts';
import { changesIn, newestFirst, observedIn, recordKey } from '../../domain/observed-records.ts';
import type { ChainAppends } from './chain-appends.ts';

export interface RecordDependencies {
  eventStore: EventStore;
  appends: ChainAppends;
}

interface Unconfirmed {
  record: ObservedRecord;
  /** Whether its newest event is a reversal. */
  isReverted: boolean;
}

const READ_BACK_EVENTS = 500;

/**
 * The records of one contract, in its stream. After a crash it knows which records were appended after the newest
 * progress ("unconfirmed"), so that reading the same blocks again stores nothing twice.
 */
export class ContractRecords {
  private constructor(
    private readonly dependencies: RecordDependencies,
    private readonly stream: string,
    private newest: Appended,
    private readonly unconfirmedByKey: Map<string, Unconfirmed>,
  ) {}

  /**
   * @param contract lower case
   * @param position of the newest progress
   */
  static async load(
    dependencies: RecordDependencies,
    { chainId, contract }: { chainId: number; contract: string },
    position: Position,
  ): Promise<ContractRecords> {
    const stream = `chain-${String(chainId)}-${contract}`;
    const { newest, later } = await dependencies.appends.readFenced(
      stream,
      () => readAfter(dependencies.eventStore, stream, position),
      () => ({ type: 'FollowerReplaced', data: { chainId } }),
    );
    const unconfirmed = changesIn(later).map(
      ({ type, data }) => [recordKey(data), { record: data, isReverted: type === 'ChainEventReverted' }] as const,
    );
    return new ContractRecords(dependencies, stream, newest, new Map(unconfirmed));
  }

  get unconfirmed(): ObservedRecord[] {
    return Array.from(this.unconfirmedByKey.values(), ({ record }) => record);
  }

  /** Of its newest event; 0 if it has none. */
  get position(): Position {
    return this.newest.position;
  }

  get areConfirmed(): boolean {
    return this.unconfirmedByKey.size === 0;
  }

  /** Stores records in the order given, except those that are stored already. */
  async observe(records: readonly ObservedRecord[]): Promise<void> {
    await this.append(
      'ChainEventObserved',
      records.filter((record) => this.confirm(record)?.isReverted ?? true),
    );
  }

  /** Stores the reversals of records, newest first, except those that are stored already. */
  async revert(records: readonly ObservedRecord[]): Promise<void> {
    await this.append(
      'ChainEventReverted',
      newestFirst(records.filter((record) => !(this.confirm(record)?.isReverted ?? false))),
    );
  }

  /** Stores the reversals of what was observed in these blocks. */
  async revertBlocks(hashes: ReadonlySet<string>, since: Position): Promise<void> {
    const isOfBlocks = ({ BlockHash }: ObservedRecord) => hashes.has(BlockHash);
    await this.revert((await this.observedSince(since)).filter(isOfBlocks));
    await this.revert(this.unconfirmed.filter(isOfBlocks));
  }

  async revertEverything(): Promise<void> {
    await this.revert(observedIn(await this.dependencies.eventStore.read(this.stream)));
    this.unconfirmedByKey.clear();
  }

  /** Removes a record from the unconfirmed ones, and returns what was known of it. */
  confirm(record: ObservedRecord): Unconfirmed | undefined {
    if (this.areConfirmed) return undefined;
    const key = recordKey(record);
    const known = this.unconfirmedByKey.get(key);
    this.unconfirmedByKey.delete(key);
    return known;
  }

  /** Returns what was stored after a position and not reverted. Reads nothing if nothing was stored there. */
  private async observedSince(since: Position): Promise<ObservedRecord[]> {
    if (this.newest.position <= since) return [];
    return observedIn((await readAfter(this.dependencies.eventStore, this.stream, since)).later);
  }

  private async append(type: ChainEvent['type'], records: readonly ObservedRecord[]): Promise<void> {
    const events = records.map((data) => ({ type, data }));
    this.newest = await this.dependencies.appends.append(this.stream, this.newest, events);
  }
}

/** Reads the newest event of a stream, and its events after a position, in order. */
const readAfter = async (
  eventStore: EventStore,
  stream: string,
  position: Position,
): Promise<{ newest: Appended; later: StoredEvent[] }> => {
  const later: StoredEvent[] = [];
  let newest: Appended | undefined;
  let from: number | undefined;
  for (;;) {
    const page = await eventStore.read(stream, {
      direction: 'backwards',
      limit: READ_BACK_EVENTS,
      ...(from === undefined ? {} : { from }),
    });
    newest ??= page[0];
    later.push(...page.filter((event) => event.position > position));
    const oldest = page.at(-1);
    if (!oldest || oldest.position <= position || oldest.revision === 0) {
      return { newest: newest ?? { revision: NO_STREAM, position: 0 }, later: later.reverse() };
    }
    from = oldest.revision - 1;
  }
};
