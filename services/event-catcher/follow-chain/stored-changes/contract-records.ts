import {
  chainEventsStream,
  type ChainEvent,
  type ObservedRecord,
} from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { Appended, EventStore, Position, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { changesIn, newestFirst, observedIn, recordKey } from '../../domain/observed-records.ts';
import { NO_EVENT, type ChainAppends } from './chain-appends.ts';

export interface RecordDependencies {
  eventStore: EventStore;
  appends: ChainAppends;
}

interface Unconfirmed {
  record: ObservedRecord;
  /** Whether the newest event of the record is a reversal. */
  isReverted: boolean;
}

const READ_BACK_EVENTS = 500;

/**
 * The records (decoded logs) of one contract, in the contract's stream. Records that were stored after the newest
 * checkpoint are "unconfirmed": if their blocks are read again after a crash, nothing is stored twice.
 */
export class ContractRecords {
  private constructor(
    private readonly dependencies: RecordDependencies,
    private readonly stream: string,
    private newest: Appended,
    private readonly unconfirmedByKey: Map<string, Unconfirmed>,
  ) {}

  /**
   * Loads the records that were stored or reverted after `position`.
   * @param contract lower case
   * @param position of the newest checkpoint
   */
  static async load(
    dependencies: RecordDependencies,
    { chainId, contract }: { chainId: number; contract: string },
    position: Position,
  ): Promise<ContractRecords> {
    const stream = chainEventsStream(chainId, contract);
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

  /** Position of the newest event of the stream; 0 for an empty stream. */
  get position(): Position {
    return this.newest.position;
  }

  get areConfirmed(): boolean {
    return this.unconfirmedByKey.size === 0;
  }

  /** Stores records in the given order, except unconfirmed ones, which an earlier follower has stored already. */
  async observe(records: readonly ObservedRecord[]): Promise<void> {
    await this.append(
      'ChainEventObserved',
      records.filter((record) => this.confirm(record)?.isReverted ?? true),
    );
  }

  /** Stores the reversals of records, newest first, except reversals that an earlier follower has stored already. */
  async revert(records: readonly ObservedRecord[]): Promise<void> {
    await this.append(
      'ChainEventReverted',
      newestFirst(records.filter((record) => !(this.confirm(record)?.isReverted ?? false))),
    );
  }

  /**
   * Reverts the records of the blocks with these hashes.
   * @param since event-store position after which all records of these blocks are stored
   */
  async revertBlocks(hashes: ReadonlySet<string>, since: Position): Promise<void> {
    const isOfBlocks = ({ BlockHash }: ObservedRecord) => hashes.has(BlockHash);
    await this.revert((await this.observedSince(since)).filter(isOfBlocks));
    await this.revert(this.unconfirmed.filter(isOfBlocks));
  }

  async revertEverything(): Promise<void> {
    await this.revert(observedIn(await this.dependencies.eventStore.read(this.stream)));
    this.unconfirmedByKey.clear();
  }

  /** Removes a record from the unconfirmed records. @returns its former entry; `undefined` if it had none */
  confirm(record: ObservedRecord): Unconfirmed | undefined {
    if (this.areConfirmed) return undefined;
    const key = recordKey(record);
    const known = this.unconfirmedByKey.get(key);
    this.unconfirmedByKey.delete(key);
    return known;
  }

  /** Returns the records stored after a position and not reverted. Reads nothing if the stream has no newer event. */
  private async observedSince(since: Position): Promise<ObservedRecord[]> {
    if (this.newest.position <= since) return [];
    return observedIn((await readAfter(this.dependencies.eventStore, this.stream, since)).later);
  }

  private async append(type: ChainEvent['type'], records: readonly ObservedRecord[]): Promise<void> {
    const events = records.map((data) => ({ type, data }));
    this.newest = await this.dependencies.appends.append(this.stream, this.newest, events);
  }
}

/** Returns the newest event of a stream, and the stream's events after `position`, oldest first. */
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
      return { newest: newest ?? NO_EVENT, later: later.reverse() };
    }
    from = oldest.revision - 1;
  }
};
