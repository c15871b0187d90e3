import type { ChainEvent, ObservedRecord } from '../../../schemas/events/chain-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import {
  NO_STREAM,
  type EventStore,
  type Position,
  type StoredEvent,
} from '../../../shared/event-store/event-store.ts';
import { appendSettled, toAppend } from '../../../shared/event-store/transact.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { Ids } from '../../../shared/primitives/ids.ts';
import { appendChunks } from './append-chunks.ts';

/** First and last revision of what was appended, inclusive. */
export type Span = [first: number, last: number];

interface Unconfirmed {
  record: ObservedRecord;
  /** `false`: its newest event is a reversal. */
  stands: boolean;
  revision: number;
}

export interface JournalDependencies {
  eventStore: EventStore;
  clock: Clock;
  ids: Ids;
}

const READ_BACK_EVENTS = 500;
const metadata: EventMetadata = { correlationId: 'event-catcher', actor: { type: 'system', id: 'event-catcher' } };

export const contractStream = (chainId: number, contract: string): string => `chain-${String(chainId)}-${contract}`;

/**
 * What was observed of one contract. After a crash it knows what was appended behind the last checkpoint
 * ("unconfirmed"), so that reading the same blocks again stores nothing twice.
 */
export class ContractJournal {
  private constructor(
    private readonly dependencies: JournalDependencies,
    private readonly stream: string,
    private revision: number,
    private readonly unconfirmed: Map<string, Unconfirmed>,
  ) {}

  static async recover(
    dependencies: JournalDependencies,
    stream: string,
    checkpoint: Position,
  ): Promise<ContractJournal> {
    const behind: StoredEvent[] = [];
    let from: number | undefined;
    for (;;) {
      const page = await dependencies.eventStore.read(stream, {
        direction: 'backwards',
        limit: READ_BACK_EVENTS,
        ...(from === undefined ? {} : { from }),
      });
      behind.push(...page.filter(({ position }) => position > checkpoint));
      const oldest = page.at(-1);
      if (!oldest || oldest.position <= checkpoint || oldest.revision === 0) {
        const revision = behind[0]?.revision ?? page[0]?.revision ?? NO_STREAM;
        return new ContractJournal(dependencies, stream, revision, unconfirmedOf(behind.reverse()));
      }
      from = oldest.revision - 1;
    }
  }

  get unconfirmedRecords(): ObservedRecord[] {
    return Array.from(this.unconfirmed.values(), ({ record }) => record);
  }

  get hasUnconfirmed(): boolean {
    return this.unconfirmed.size > 0;
  }

  /** Stores records in the order given, but for those that stand already. */
  async observe(records: readonly ObservedRecord[]): Promise<Span | undefined> {
    if (!this.hasUnconfirmed) return spanOf(await this.append('ChainEventObserved', records));
    const confirmed: number[] = [];
    const fresh = records.filter(({ Id }) => {
      const known = this.unconfirmed.get(Id);
      this.unconfirmed.delete(Id);
      if (known?.stands) confirmed.push(known.revision);
      return !known?.stands;
    });
    return spanOf([...confirmed, ...(await this.append('ChainEventObserved', fresh))]);
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

  /** The records of a block that stand, newest first. */
  async standingOf(blockHash: string, [first, last]: Span): Promise<ObservedRecord[]> {
    const events = await this.dependencies.eventStore.read(this.stream, { from: first, limit: last - first + 1 });
    return standingRecords(events)
      .filter(({ BlockHash }) => BlockHash === blockHash)
      .reverse();
  }

  /** Every record that stands, newest first. */
  async allStanding(): Promise<ObservedRecord[]> {
    return standingRecords(await this.dependencies.eventStore.read(this.stream)).reverse();
  }

  private async append(type: ChainEvent['type'], records: readonly ObservedRecord[]): Promise<number[]> {
    const revisions: number[] = [];
    for (const chunk of appendChunks(records)) {
      const events = chunk.map((data) => toAppend({ type, data }, metadata, this.dependencies));
      const { revision } = await appendSettled(this.dependencies.eventStore, this.stream, this.revision, events);
      revisions.push(this.revision + 1, revision);
      this.revision = revision;
    }
    return revisions;
  }
}

const spanOf = (revisions: readonly number[]): Span | undefined =>
  revisions.length === 0 ? undefined : [Math.min(...revisions), Math.max(...revisions)];

const unconfirmedOf = (events: readonly StoredEvent[]): Map<string, Unconfirmed> =>
  new Map(
    events.map((stored) => {
      const { type, data, revision } = stored as StoredEvent & ChainEvent;
      return [data.Id, { record: data, stands: type === 'ChainEventObserved', revision }];
    }),
  );

const standingRecords = (events: readonly StoredEvent[]): ObservedRecord[] => {
  const standing = new Map<string, ObservedRecord>();
  for (const stored of events) {
    const { type, data } = stored as StoredEvent & ChainEvent;
    standing.delete(data.Id);
    if (type === 'ChainEventObserved') standing.set(data.Id, data);
  }
  return [...standing.values()];
};
