import type { JsonObject } from '../../../schemas/json.ts';
import type { EventBatch, Position } from '../../../shared/event-store/event-store.ts';
import type { DocumentChange, ReadStore } from '../../../shared/read-store/read-store.ts';
import type { DocumentKey, Projection } from './projection.ts';

interface Loaded {
  position: Position;
  document: JsonObject | undefined;
  changed: boolean;
}

/**
 * Folds a batch into its documents and stores them with the position. What a document already knows is not folded
 * again, so a batch may come twice, or in part.
 */
export const projectBatch = async (
  projection: Projection,
  store: Pick<ReadStore, 'getMany' | 'apply'>,
  { events, position }: Pick<EventBatch, 'events' | 'position'>,
): Promise<void> => {
  const documents = await load(
    store,
    events.flatMap((event) => projection.touches(event)),
  );
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
  await store.apply(projection.name, changesOf(documents), position);
};

const load = async (
  store: Pick<ReadStore, 'getMany'>,
  keys: readonly DocumentKey[],
): Promise<Map<string, Map<string, Loaded>>> => {
  const documents = new Map<string, Map<string, Loaded>>();
  for (const { collection, id } of keys) {
    let ofCollection = documents.get(collection);
    if (!ofCollection) {
      ofCollection = new Map<string, Loaded>();
      documents.set(collection, ofCollection);
    }
    if (!ofCollection.has(id)) ofCollection.set(id, { position: 0, document: undefined, changed: false });
  }
  for (const [collection, ofCollection] of documents) {
    for (const [id, stored] of await store.getMany(collection, [...ofCollection.keys()])) {
      ofCollection.set(id, { position: stored.position, document: stored.document, changed: false });
    }
  }
  return documents;
};

const changesOf = (documents: Map<string, Map<string, Loaded>>): DocumentChange[] => {
  const changes: DocumentChange[] = [];
  for (const [collection, ofCollection] of documents) {
    for (const [id, { position, document, changed }] of ofCollection) {
      if (changed && document) changes.push({ collection, id, position, document });
    }
  }
  return changes;
};
