import type { ObservedRecord } from '../../../schemas/events/chain-events.ts';
import type { WatchEvent } from '../../../schemas/events/watch-events.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import { chainEventCountId, chainEventDocumentId } from '../../../schemas/read-models/chain-events.ts';
import type { ChainDocument } from '../../../schemas/read-models/chains.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { TestFoundation } from '../../../shared/testing/test-foundation.ts';
import { watchFold, type Watch } from '../domain/watch.ts';
import { CHAIN_ID, HEAD } from './asked-and-caught.ts';

/** Fills the read models as the projector, which is another service, would. */
export class CaughtDocuments {
  /** Beyond every event of a test. */
  private position = 1_000;

  constructor(private readonly foundation: TestFoundation) {}

  /** The read models reach what is stored. */
  async project(): Promise<void> {
    const { eventStore, readStore } = this.foundation;
    const { events, position } = await eventStore.readAll(0, undefined, 10_000);
    const registrations = Map.groupBy(
      events.filter(({ stream }) => stream.startsWith('watch-')),
      ({ stream }) => stream,
    );
    const { projection, collection } = readModels.watches;
    const changes = Array.from(registrations.values(), (ofOne) => {
      const watch = ofOne.reduce<Watch | undefined>(
        (state, stored) => watchFold.evolve(state, stored as StoredEvent & WatchEvent, stored.time),
        undefined,
      );
      if (!watch) throw new Error('a registration makes a watch');
      const { watchId: id, apps, ...rest } = watch;
      const document = { id, ...rest, apps: [...apps], createdPosition: ofOne[0]?.position ?? 0 };
      return { collection, id, document, position: ofOne.at(-1)?.position ?? 0 };
    });
    await readStore.apply(projection, changes, position);
    for (const other of [readModels.chains, readModels.chainEvents])
      await readStore.apply(other.projection, [], position);
  }

  /** Records that were caught, and their counts. */
  async observe(records: readonly ObservedRecord[], isReverted: (record: ObservedRecord) => boolean): Promise<void> {
    const position = ++this.position;
    const { projection, collection } = readModels.chainEvents;
    const documents = records.map((record) => ({
      ...{ collection, id: chainEventDocumentId(record), position },
      document: { ...record, changes: [position], observedPosition: position, reverted: isReverted(record) },
    }));
    const counts = Array.from(Map.groupBy(records, chainEventCountId), ([id, alike]) => {
      const reverted = alike.filter(isReverted).length;
      const document = { standing: alike.length - reverted, reverted };
      return { collection: readModels.chainEventCounts.collection, id, position, document };
    });
    await this.foundation.readStore.apply(projection, [...documents, ...counts], position);
  }

  /** How far the chain was read, with a head of 3 s ago. */
  async advance(changes: Partial<ChainDocument>): Promise<void> {
    const position = ++this.position;
    const document = {
      ...{ chainId: CHAIN_ID, head: HEAD, headTime: new Date(this.foundation.clock.now() - 3_000).toISOString() },
      ...{ finalized: 0, backfills: [], watchesUpTo: 0, ...changes },
    };
    const { projection, collection } = readModels.chains;
    await this.foundation.readStore.apply(
      projection,
      [{ collection, id: String(CHAIN_ID), position, document }],
      position,
    );
  }
}
