import type { ObservedRecord } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { BlockRange } from '../../../../shared/chain/client/refusals/suggested-range.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import {
  chainEventIdFrom,
  chainEventsModel,
  recordIn,
  type ChainEventDocument,
} from '../../../../shared/read-models/event-catcher/chain-events.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import type { WatchedEvent } from '../watches/watched-event.ts';

const { record, count } = chainEventsModel.collections;
/** How long to wait for the read model to catch up with the event store. */
const CAUGHT_UP_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 20;
const DOCUMENTS_AT_ONCE = 1_000;

/** Thrown if the read store does not answer, or if the read model stays behind the event store. */
export class StoredUnavailable extends Error {
  override readonly name = 'StoredUnavailable';
}

/** Reads from the read model the records (decoded logs) that are stored and not reverted. */
export class StoredRecords {
  constructor(private readonly readStore: Pick<ReadStore, 'getMany' | 'find' | 'position'>) {}

  /**
   * Returns the records of the watches in the given blocks, by watch id and in chain order.
   * @param position the read model must contain all events up to this position; waits until it does
   * @throws StoredUnavailable
   */
  async load(
    watches: readonly WatchedEvent[],
    blocks: BlockRange,
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

  private async read(watches: readonly WatchedEvent[], blocks: BlockRange): Promise<Map<string, ObservedRecord[]>> {
    const watchIds = new Set(watches.map(({ id }) => id));
    const records = new Map<string, ObservedRecord[]>();
    for (const { chainId, contractAddress } of await this.withRecords(watches, blocks)) {
      for await (const document of this.documents(chainId, contractAddress, blocks)) {
        const { WatchId: watchId } = document;
        if (!watchIds.has(watchId)) continue;
        const ofWatch = records.get(watchId) ?? [];
        ofWatch.push(recordIn(document));
        records.set(watchId, ofWatch);
      }
    }
    return records;
  }

  /** Returns one watch for each contract of which some watch may have records in blocks `from`…`to`. */
  private async withRecords(
    watches: readonly WatchedEvent[],
    { from, to }: BlockRange,
  ): Promise<Iterable<WatchedEvent>> {
    const counts = await this.readStore.getMany(
      count.name,
      watches.map(({ id }) => id),
    );
    const mayHave = ({ id }: WatchedEvent) => {
      const stored = counts.get(id);
      if (!stored) return false;
      return count.document.parse(stored.document).segments.some(([first, last]) => first <= to && from <= last);
    };
    const found = watches.filter(mayHave);
    return new Map(found.map((watch) => [watch.contract, watch])).values();
  }

  private async *documents(
    chainId: number,
    contract: string,
    { from, to }: BlockRange,
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
