import type { ChainEvent, ObservedRecord } from '../../../schemas/events/chain-events.ts';
import {
  NO_STREAM,
  type Appended,
  type EventStore,
  type Position,
  type StoredEvent,
} from '../../../shared/event-store/event-store.ts';
import { appendChunks } from './append-chunks.ts';
import type { ChainAppends } from './chain-appends.ts';

interface Unconfirmed {
  record: ObservedRecord;
  /** `false`: its newest event is a reversal. */
  stands: boolean;
}

export interface JournalDependencies {
  eventStore: EventStore;
  appends: ChainAppends;
}

const READ_BACK_EVENTS = 500;

/**
 * What was observed of one contract. After a crash it knows what was appended behind the last checkpoint
 * ("unconfirmed"), so that reading the same blocks again stores nothing twice.
 */
export class ContractJournal {
  private constructor(
    private readonly dependencies: JournalDependencies,
    private readonly stream: string,
    private newest: Appended,
    private readonly unconfirmed: Map<string, Unconfirmed>,
  ) {}

  /** @param contract lower case */
  static async recover(
    dependencies: JournalDependencies,
    { chainId, contract }: { chainId: number; contract: string },
    checkpoint: Position,
  ): Promise<ContractJournal> {
    const stream = `chain-${String(chainId)}-${contract}`;
    const { newest, behind } = await dependencies.appends.readFenced(
      stream,
      () => readBehind(dependencies.eventStore, stream, checkpoint),
      () => ({ type: 'FollowerReplaced', data: { chainId } }),
    );
    return new ContractJournal(dependencies, stream, newest, unconfirmedOf(behind));
  }

  get unconfirmedRecords(): ObservedRecord[] {
    return Array.from(this.unconfirmed.values(), ({ record }) => record);
  }

  get hasUnconfirmed(): boolean {
    return this.unconfirmed.size > 0;
  }

  /** Stores records in the order given, but for those that stand already. */
  async observe(records: readonly ObservedRecord[]): Promise<void> {
    const fresh = records.filter(({ Id }) => {
      const known = this.unconfirmed.get(Id);
      this.unconfirmed.delete(Id);
      return !known?.stands;
    });
    await this.append('ChainEventObserved', fresh);
  }

  /** Stores the reversal of records in the order given, but for those that were reverted already. */
  async revert(records: readonly ObservedRecord[]): Promise<void> {
    const standing = records.filter(({ Id }) => {
      const known = this.unconfirmed.get(Id);
      this.unconfirmed.delete(Id);
      return known?.stands ?? true;
    });
    await this.append('ChainEventReverted', standing);
  }

  /** Believes what is unconfirmed of a record: no block will be read that could confirm it. */
  settle(id: string): void {
    this.unconfirmed.delete(id);
  }

  /** What was stored behind a position and stands. Asks for nothing when nothing was stored there. */
  async standingSince(since: Position): Promise<ObservedRecord[]> {
    if (this.newest.position <= since) return [];
    return standingRecords((await readBehind(this.dependencies.eventStore, this.stream, since)).behind);
  }

  /** Every record that stands, newest first. */
  async allStanding(): Promise<ObservedRecord[]> {
    return standingRecords(await this.dependencies.eventStore.read(this.stream)).reverse();
  }

  private async append(type: ChainEvent['type'], records: readonly ObservedRecord[]): Promise<void> {
    for (const chunk of appendChunks(records)) {
      const events = chunk.map((data) => ({ type, data }));
      this.newest = await this.dependencies.appends.append(this.stream, this.newest.revision, events);
    }
  }
}

/** The newest event of a stream, and what it holds behind a position, in order. */
const readBehind = async (
  eventStore: EventStore,
  stream: string,
  position: Position,
): Promise<{ newest: Appended; behind: StoredEvent[] }> => {
  const behind: StoredEvent[] = [];
  let newest: Appended | undefined;
  let from: number | undefined;
  for (;;) {
    const page = await eventStore.read(stream, {
      direction: 'backwards',
      limit: READ_BACK_EVENTS,
      ...(from === undefined ? {} : { from }),
    });
    newest ??= page[0];
    behind.push(...page.filter((event) => event.position > position));
    const oldest = page.at(-1);
    if (!oldest || oldest.position <= position || oldest.revision === 0) {
      return { newest: newest ?? { revision: NO_STREAM, position: 0 }, behind: behind.reverse() };
    }
    from = oldest.revision - 1;
  }
};

const unconfirmedOf = (events: readonly StoredEvent[]): Map<string, Unconfirmed> =>
  new Map(
    changesIn(events).map(({ type, data }) => [data.Id, { record: data, stands: type === 'ChainEventObserved' }]),
  );

const standingRecords = (events: readonly StoredEvent[]): ObservedRecord[] => {
  const standing = new Map<string, ObservedRecord>();
  for (const { type, data } of changesIn(events)) {
    standing.delete(data.Id);
    if (type === 'ChainEventObserved') standing.set(data.Id, data);
  }
  return [...standing.values()];
};

/** What was seen of the contract, without what says who saw it. */
const changesIn = (events: readonly StoredEvent[]): (StoredEvent & ChainEvent)[] =>
  events.filter(
    (event): event is StoredEvent & ChainEvent =>
      event.type === 'ChainEventObserved' || event.type === 'ChainEventReverted',
  );
