import type { JsonObject } from '../../../schemas/json.ts';
import type { EventBatch, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { ReadModel } from '../../../shared/read-models/read-model.ts';
import type { DocumentChange, ReadStore } from '../../../shared/read-store/read-store.ts';

export type Projected = Pick<EventBatch, 'events' | 'position' | 'newestPermanent'>;
type DocumentIds = ReturnType<ReadModel['touches']>;

interface LoadedDocument {
  position: Position;
  document: JsonObject | undefined;
  changed: boolean;
  /** Not in the read store yet. */
  isNew: boolean;
}

/** The documents of one role of the read model (see `collections` of `readModel`) that a batch touches. */
interface RoleDocuments {
  role: string;
  collection: string;
  byId: Map<string, LoadedDocument>;
}

/**
 * Folds batch after batch into the documents of a read model, and stores them together with the batch's position. Does
 * not fold an event again into a document that contains it, so a batch may be repeated whole or in part. While one
 * batch is being stored, the next is loaded and folded; documents of the unfinished write are read from memory.
 */
export class BatchProjector {
  private storing: Promise<void> = Promise.resolve();
  /** The documents of the previous batch, which may not be stored completely yet. */
  private previous: readonly RoleDocuments[];

  constructor(
    private readonly model: ReadModel,
    private readonly store: Pick<ReadStore, 'getMany' | 'apply'>,
  ) {
    this.previous = Object.entries(model.collections).map(([role, collection]) => ({
      role,
      collection: collection.name,
      byId: new Map<string, LoadedDocument>(),
    }));
  }

  /**
   * Returns when the batch is folded and the previous one is stored. Begins no write once the signal has aborted.
   * @throws the error with which storing the previous batch failed, or the signal's reason
   */
  async project({ events, position, newestPermanent }: Projected, signal?: AbortSignal): Promise<void> {
    const { model, store } = this;
    const touched = events.map((event) => model.touches(event));
    const documents = await load(store, touched, this.previous);
    fold(model, documents, events, touched);
    await this.storing;
    signal?.throwIfAborted();
    this.previous = documents.map(onlyChanged);
    this.storing = store.apply(model.name, this.previous.flatMap(changesOf), position, newestPermanent);
    // The next call throws this error; the handler only keeps it from being reported as unhandled.
    this.storing.catch(() => undefined);
  }

  /** Returns when everything is stored. @throws the error with which storing failed */
  flush(): Promise<void> {
    return this.storing;
  }
}

const fold = (
  model: ReadModel,
  documents: readonly RoleDocuments[],
  events: readonly StoredEvent[],
  touched: readonly DocumentIds[],
): void => {
  for (const [at, event] of events.entries()) {
    const ids = touched[at] ?? {};
    const before: Record<string, JsonObject | undefined> = {};
    for (const ofRole of documents) before[ofRole.role] = loadedDocument(ofRole, ids)?.document;
    const after = model.evolve(before, event);
    for (const ofRole of documents) {
      const document = after[ofRole.role];
      if (!document) continue;
      const loaded = loadedDocument(ofRole, ids);
      if (!loaded) throw new Error(`${model.name} changes the ${ofRole.role} of ${event.type} without touching it`);
      if (loaded.position >= event.position) continue;
      loaded.position = event.position;
      loaded.document = document;
      loaded.changed = true;
    }
  }
};

const loadedDocument = ({ role, byId }: RoleDocuments, ids: DocumentIds): LoadedDocument | undefined => {
  const id = ids[role];
  return id === undefined ? undefined : byId.get(id);
};

/**
 * Loads the collections in the reverse of the order in which they are stored. Another process may be storing the same
 * batch meanwhile. A count that is loaded first and contains an event then meets a record, loaded later, that contains
 * it too.
 */
const load = async (
  store: Pick<ReadStore, 'getMany'>,
  touched: readonly DocumentIds[],
  previous: readonly RoleDocuments[],
): Promise<RoleDocuments[]> => {
  const documents = previous.map((ofRole) => ({ ...ofRole, byId: touchedIn(ofRole, touched) }));
  for (const { collection, byId } of documents.toReversed()) {
    const missing = [...byId].filter(([, { document }]) => document === undefined).map(([id]) => id);
    if (missing.length === 0) continue;
    for (const [id, { position, document }] of await store.getMany(collection, missing)) {
      byId.set(id, { position, document, changed: false, isNew: false });
    }
  }
  return documents;
};

/**
 * The documents of a role that a batch touches. Those that the previous batch did not change still have to be loaded.
 */
const touchedIn = ({ role, byId: previous }: RoleDocuments, touched: readonly DocumentIds[]): RoleDocuments['byId'] => {
  const byId: RoleDocuments['byId'] = new Map();
  for (const { [role]: id } of touched) {
    if (id === undefined || byId.has(id)) continue;
    const { position = 0, document } = previous.get(id) ?? {};
    byId.set(id, { position, document, changed: false, isNew: document === undefined });
  }
  return byId;
};

const onlyChanged = (ofRole: RoleDocuments): RoleDocuments => ({
  ...ofRole,
  byId: new Map([...ofRole.byId].filter(([, { changed }]) => changed)),
});

const changesOf = ({ collection, byId }: RoleDocuments): DocumentChange[] => {
  const changes: DocumentChange[] = [];
  for (const [id, { position, document, isNew }] of byId) {
    if (document) changes.push({ collection, id, position, document, isNew });
  }
  return changes;
};
