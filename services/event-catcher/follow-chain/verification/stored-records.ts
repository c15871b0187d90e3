import type { ObservedRecord } from '../../../../schemas/events/chain-events.ts';
import { pause } from '../../../../shared/primitives/pause.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import {
  chainEventIdFrom,
  chainEventsModel,
  type ChainEventDocument,
} from '../../../../shared/read-models/chain-events.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import type { WatchedEvent } from '../watched-event.ts';

const { record, count } = chainEventsModel.collections;
/** How long the read model may take until it has what was stored. */
const CAUGHT_UP_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 20;
const DOCUMENTS_AT_ONCE = 1_000;

interface Blocks {
  from: number;
  to: number;
}

/** The read store does not answer, or its read model is behind. */
export class StoredUnavailable extends Error {
  override readonly name = 'StoredUnavailable';
}

/** The records that are stored and not reverted, from the read model. */
export class StoredRecords {
  constructor(private readonly readStore: Pick<ReadStore, 'getMany' | 'find' | 'position'>) {}

  /**
   * Returns the records of watches in these blocks by the id of the watch, in chain order.
   * @param position up to which everything was stored that changes them
   * @throws StoredUnavailable
   */
  async of(
    watches: readonly WatchedEvent[],
    blocks: Blocks,
    position: Position,
    signal: AbortSignal,
  ): Promise<Map<string, ObservedRecord[]>> {
    try {
      await this.untilAt(position, signal);
      return await this.read(watches, blocks);
    } catch (error) {
      throw new StoredUnavailable('what is stored cannot be read now', { cause: error });
    }
  }

  private async untilAt(position: Position, signal: AbortSignal): Promise<void> {
    for (let leftMs = CAUGHT_UP_WITHIN_MS; (await this.readStore.position(chainEventsModel.name)) < position;) {
      if (leftMs <= 0 || signal.aborted) throw new Error('the read model is behind');
      await pause(LOOK_EVERY_MS, signal);
      leftMs -= LOOK_EVERY_MS;
    }
  }

  private async read(watches: readonly WatchedEvent[], blocks: Blocks): Promise<Map<string, ObservedRecord[]>> {
    const watchIds = new Map(watches.flatMap(({ id, recordIds }) => recordIds.map((recordId) => [recordId, id])));
    const records = new Map<string, ObservedRecord[]>();
    for (const { chainId, contractAddress } of await this.withRecords(watches, blocks)) {
      for await (const document of this.documents(chainId, contractAddress, blocks)) {
        const watchId = watchIds.get(document.WatchId);
        if (watchId === undefined) continue;
        const ofWatch = records.get(watchId) ?? [];
        ofWatch.push(toRecord(document));
        records.set(watchId, ofWatch);
      }
    }
    return records;
  }

  /** Returns a watch of each contract that may have records in these blocks. */
  private async withRecords(watches: readonly WatchedEvent[], { from, to }: Blocks): Promise<Iterable<WatchedEvent>> {
    const counts = await this.readStore.getMany(
      count.name,
      watches.flatMap(({ recordIds }) => recordIds),
    );
    const mayHave = (id: string) => {
      const stored = counts.get(id);
      if (!stored) return false;
      return count.document.parse(stored.document).segments.some(([first, last]) => first <= to && from <= last);
    };
    const found = watches.filter(({ recordIds }) => recordIds.some(mayHave));
    return new Map(found.map((watch) => [watch.contract, watch])).values();
  }

  private async *documents(
    chainId: number,
    contract: string,
    { from, to }: Blocks,
  ): AsyncGenerator<ChainEventDocument> {
    const end = chainEventIdFrom(chainId, contract, to + 1);
    let id: { gte: string; lt: string } | { gt: string; lt: string } = {
      gte: chainEventIdFrom(chainId, contract, from),
      lt: end,
    };
    for (;;) {
      const found = await this.readStore.find(record.name, {
        filter: { id, reverted: false },
        sort: [['id', 'asc']],
        limit: DOCUMENTS_AT_ONCE,
      });
      for (const { document } of found) yield record.document.parse(document);
      const last = found.at(-1);
      if (!last || found.length < DOCUMENTS_AT_ONCE) return;
      id = { gt: last.id, lt: end };
    }
  }
}

const toRecord = (document: ChainEventDocument): ObservedRecord => {
  const {
    changes: _changes,
    observedPosition: _position,
    reverted: _reverted,
    segment: _segment,
    ...stored
  } = document;
  return stored;
};
