import type { JsonObject } from '../../../schemas/json.ts';
import type { EventBatch, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { DocumentChange, ReadStore } from '../../../shared/read-store/read-store.ts';
import type { DocumentKey, Projection } from './projection.ts';

interface Loaded {
  position: Position;
  document: JsonObject | undefined;
  changed: boolean;
  isNew: boolean;
}

/** By collection, in the order in which they are stored; by id. */
type Documents = Map<string, Map<string, Loaded>>;

/**
 * Folds batch after batch into their documents, and stores each with its position. What a document already knows is not
 * folded again, so a batch may come twice, or in part. While one batch is stored, the next is loaded and folded: the
 * documents of the one under way are taken from here.
 */
export class BatchProjector {
  private storing: Promise<void> = Promise.resolve();
  private underWay: Documents = new Map();

  constructor(
    private readonly projection: Projection,
    private readonly store: Pick<ReadStore, 'getMany' | 'apply'>,
  ) {}

  /**
   * Returns when the batch is folded and the one before it is stored. Stores nothing more once the signal has aborted.
   * @throws what the one before it failed with, or the signal's reason
   */
  async project({ events, position }: Pick<EventBatch, 'events' | 'position'>, signal?: AbortSignal): Promise<void> {
    const { projection, store } = this;
    const keys = events.flatMap((event) => projection.touches(event));
    const documents = await load(store, keys, this.underWay);
    fold(projection, documents, events);
    await this.storing;
    signal?.throwIfAborted();
    this.underWay = changed(documents);
    this.storing = store.apply(projection.name, changesOf(this.underWay), position);
    // Whoever comes next hears of it; this only keeps it from being reported as unhandled.
    this.storing.catch(() => undefined);
  }

  /** Returns when everything is stored. @throws what that failed with */
  settled(): Promise<void> {
    return this.storing;
  }
}

/** One batch alone. */
export const projectBatch = async (
  projection: Projection,
  store: Pick<ReadStore, 'getMany' | 'apply'>,
  batch: Pick<EventBatch, 'events' | 'position'>,
): Promise<void> => {
  const projector = new BatchProjector(projection, store);
  await projector.project(batch);
  await projector.settled();
};

const fold = (projection: Projection, documents: Documents, events: readonly StoredEvent[]): void => {
  const find = ({ collection, id }: DocumentKey): Loaded => {
    const found = documents.get(collection)?.get(id);
    if (!found) throw new Error(`${projection.name} changes ${collection}/${id} without touching it`);
    return found;
  };
  for (const event of events) {
    const before = (key: DocumentKey) => find(key).document;
    for (const change of projection.evolve(event, before)) {
      const known = find(change);
      if (known.position >= event.position) continue;
      known.position = event.position;
      known.document = change.document;
      known.changed = true;
    }
  }
};

/**
 * In the reverse of the order in which they are stored. Another may store meanwhile, and what a document has of its events
 * the collections before it have too: so it must with what is loaded of them.
 */
const load = async (
  store: Pick<ReadStore, 'getMany'>,
  keys: readonly DocumentKey[],
  underWay: Documents,
): Promise<Documents> => {
  const documents: Documents = new Map();
  for (const { collection, id } of keys) {
    let ofCollection = documents.get(collection);
    if (!ofCollection) {
      ofCollection = new Map<string, Loaded>();
      documents.set(collection, ofCollection);
    }
    if (ofCollection.has(id)) continue;
    const { position = 0, document } = underWay.get(collection)?.get(id) ?? {};
    ofCollection.set(id, { position, document, changed: false, isNew: document === undefined });
  }
  for (const [collection, ofCollection] of [...documents].toReversed()) {
    const missing = [...ofCollection].filter(([, { document }]) => document === undefined).map(([id]) => id);
    if (missing.length === 0) continue;
    for (const [id, { position, document }] of await store.getMany(collection, missing)) {
      ofCollection.set(id, { position, document, changed: false, isNew: false });
    }
  }
  return documents;
};

const changed = (documents: Documents): Documents =>
  new Map(
    Array.from(documents, ([collection, ofCollection]) => [
      collection,
      new Map([...ofCollection].filter(([, one]) => one.changed)),
    ]),
  );

const changesOf = (documents: Documents): DocumentChange[] => {
  const changes: DocumentChange[] = [];
  for (const [collection, ofCollection] of documents) {
    for (const [id, { position, document, isNew }] of ofCollection) {
      if (document) changes.push({ collection, id, position, document, isNew });
    }
  }
  return changes;
};
