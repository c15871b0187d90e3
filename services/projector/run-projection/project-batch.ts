import type { JsonObject } from '../../../schemas/json.ts';
import type { EventBatch, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { ReadModel } from '../../../shared/read-models/read-model.ts';
import type { DocumentChange, ReadStore } from '../../../shared/read-store/read-store.ts';

type Ids = ReturnType<ReadModel['touches']>;

interface Loaded {
  position: Position;
  document: JsonObject | undefined;
  changed: boolean;
  isNew: boolean;
}

/** The documents of one role. */
interface Role {
  name: string;
  collection: string;
  byId: Map<string, Loaded>;
}

/**
 * Folds batch after batch into their documents, and stores each with its position. What a document already knows is not
 * folded again, so a batch may come twice, or in part. While one batch is stored, the next is loaded and folded: the
 * documents of the one under way are taken from here.
 */
export class BatchProjector {
  private storing: Promise<void> = Promise.resolve();
  private underWay: readonly Role[];

  constructor(
    private readonly model: ReadModel,
    private readonly store: Pick<ReadStore, 'getMany' | 'apply'>,
  ) {
    this.underWay = Object.entries(model.collections).map(([name, collection]) => ({
      name,
      collection: collection.name,
      byId: new Map<string, Loaded>(),
    }));
  }

  /**
   * Returns when the batch is folded and the one before it is stored. Stores nothing more once the signal has aborted.
   * @throws what the one before it failed with, or the signal's reason
   */
  async project({ events, position }: Pick<EventBatch, 'events' | 'position'>, signal?: AbortSignal): Promise<void> {
    const { model, store } = this;
    const touched = events.map((event) => model.touches(event));
    const documents = await load(store, touched, this.underWay);
    fold(model, documents, events, touched);
    await this.storing;
    signal?.throwIfAborted();
    this.underWay = documents.map(changed);
    this.storing = store.apply(model.name, this.underWay.flatMap(changesOf), position);
    // Whoever comes next hears of it; this only keeps it from being reported as unhandled.
    this.storing.catch(() => undefined);
  }

  /** Returns when everything is stored. @throws what that failed with */
  whenStored(): Promise<void> {
    return this.storing;
  }
}

/** One batch alone. */
export const projectBatch = async (
  model: ReadModel,
  store: Pick<ReadStore, 'getMany' | 'apply'>,
  batch: Pick<EventBatch, 'events' | 'position'>,
): Promise<void> => {
  const projector = new BatchProjector(model, store);
  await projector.project(batch);
  await projector.whenStored();
};

const fold = (
  model: ReadModel,
  documents: readonly Role[],
  events: readonly StoredEvent[],
  touched: readonly Ids[],
): void => {
  for (const [at, event] of events.entries()) {
    const ids = touched[at] ?? {};
    const before: Record<string, JsonObject | undefined> = {};
    for (const role of documents) before[role.name] = loaded(role, ids)?.document;
    const after = model.evolve(before, event);
    for (const role of documents) {
      const document = after[role.name];
      if (!document) continue;
      const known = loaded(role, ids);
      if (!known) throw new Error(`${model.name} changes the ${role.name} of ${event.type} without touching it`);
      if (known.position >= event.position) continue;
      known.position = event.position;
      known.document = document;
      known.changed = true;
    }
  }
};

const loaded = ({ name, byId }: Role, ids: Ids): Loaded | undefined => {
  const id = ids[name];
  return id === undefined ? undefined : byId.get(id);
};

/**
 * Of the last role first. Another may store meanwhile, and what a document has of its events those of the roles before it
 * have too: so it must be with what is loaded of them.
 */
const load = async (
  store: Pick<ReadStore, 'getMany'>,
  touched: readonly Ids[],
  underWay: readonly Role[],
): Promise<Role[]> => {
  const documents = underWay.map((role) => ({ ...role, byId: touchedOf(role, touched) }));
  for (const { collection, byId } of documents.toReversed()) {
    const missing = [...byId].filter(([, { document }]) => document === undefined).map(([id]) => id);
    if (missing.length === 0) continue;
    for (const [id, { position, document }] of await store.getMany(collection, missing)) {
      byId.set(id, { position, document, changed: false, isNew: false });
    }
  }
  return documents;
};

/** What a batch touches of a role, as far as it is under way. */
const touchedOf = ({ name, byId: underWay }: Role, touched: readonly Ids[]): Role['byId'] => {
  const byId: Role['byId'] = new Map();
  for (const { [name]: id } of touched) {
    if (id === undefined || byId.has(id)) continue;
    const { position = 0, document } = underWay.get(id) ?? {};
    byId.set(id, { position, document, changed: false, isNew: document === undefined });
  }
  return byId;
};

const changed = (role: Role): Role => ({ ...role, byId: new Map([...role.byId].filter(([, one]) => one.changed)) });

const changesOf = ({ collection, byId }: Role): DocumentChange[] => {
  const changes: DocumentChange[] = [];
  for (const [id, { position, document, isNew }] of byId) {
    if (document) changes.push({ collection, id, position, document, isNew });
  }
  return changes;
};
