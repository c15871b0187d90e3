import { isDeepStrictEqual } from 'node:util';
import { MemoryCoordination } from './coordination.memory.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { EventPlace } from '../../event-store/event-store.ts';
import type { FormerCollection } from '../../read-store/former-collections/former-collection.ts';
import type { QueryBudget } from '../../read-store/query-budget.ts';
import type { StoredVersions } from '../../read-store/versions/stored-versions.ts';
import type {
  Checkpoint,
  CollectionDefinition,
  CollectionSize,
  Correction,
  DocumentChange,
  Filter,
  FindOptions,
  Hit,
  ReadStore,
  Search,
  SearchIndex,
  StoredDocument,
} from '../../read-store/read-store.ts';

/** A stored document. Callers get copies made from its text, never the object, which is parsed on first use. */
class Kept implements StoredDocument {
  private parsed: JsonObject | undefined;

  constructor(
    readonly id: string,
    readonly position: number,
    readonly text: string,
  ) {}

  get document(): JsonObject {
    return (this.parsed ??= JSON.parse(this.text) as JsonObject);
  }
}

/** The read store of tests and simulations. */
export class MemoryReadStore implements ReadStore {
  private readonly collections = new Map<string, Map<string, Kept>>();
  private readonly searches = new Map<string, SearchIndex>();
  private readonly stored = new Map<string, Checkpoint>();
  private readonly digests = new Map<string, string>();
  private readonly storedVersions = new Map<string, StoredVersions>();
  private readonly coordination = new MemoryCoordination();

  define(collections: readonly CollectionDefinition[]): Promise<void> {
    for (const { name, search } of collections) {
      if (!this.collections.has(name)) this.collections.set(name, new Map());
      if (search) this.searches.set(name, search);
    }
    return Promise.resolve();
  }

  apply(projection: string, changes: readonly DocumentChange[], position: number, event?: EventPlace): Promise<void> {
    for (const change of changes) {
      const documents = this.documents(change.collection);
      const stored = documents.get(change.id);
      if (stored && stored.position >= change.position) continue;
      documents.set(change.id, new Kept(change.id, change.position, JSON.stringify(change.document)));
    }
    const before = this.stored.get(projection);
    if (position >= (before?.position ?? 0))
      this.stored.set(projection, { ...before, position, ...(event && { event }) });
    return Promise.resolve();
  }

  forgetReplaced(): Promise<void> {
    return Promise.resolve();
  }

  correct(collection: string, corrections: readonly Correction[]): Promise<void> {
    const documents = this.documents(collection);
    for (const { id, expected, correct } of corrections) {
      if (documents.get(id)?.position !== expected) continue;
      if (correct) documents.set(id, new Kept(id, correct.position, JSON.stringify(correct.document)));
      else documents.delete(id);
    }
    return Promise.resolve();
  }

  async *checkIndexes(): AsyncGenerator<readonly string[]> {
    yield await Promise.resolve([]);
  }

  sizes(collections: readonly string[]): Promise<ReadonlyMap<string, CollectionSize>> {
    const stored = [...this.collections].filter(([name]) => collections.includes(name));
    const sized = stored.map(([name, documents]) => {
      const texts = [...documents.values()].map(({ text }) => text);
      return [name, { documents: texts.length, bytes: Buffer.byteLength(texts.join('')) }] as const;
    });
    return Promise.resolve(new Map(sized));
  }

  versions(): Promise<ReadonlyMap<string, StoredVersions>> {
    return Promise.resolve(new Map(this.storedVersions));
  }

  replaceVersions(model: string, expected: StoredVersions | undefined, next: StoredVersions): Promise<boolean> {
    const isExpected = isDeepStrictEqual(this.storedVersions.get(model), expected);
    if (isExpected) this.storedVersions.set(model, next);
    return Promise.resolve(isExpected);
  }

  remove(projection: string, collections: readonly string[]): Promise<void> {
    for (const name of collections) this.collections.delete(name);
    this.stored.delete(projection);
    this.digests.delete(projection);
    return Promise.resolve();
  }

  formerCollections(current: readonly string[]): Promise<FormerCollection[]> {
    const former = [...this.collections].filter(([name]) => !current.includes(name));
    return Promise.resolve(former.map(([name, { size }]) => ({ name, documents: size })));
  }

  removeFromFormer(current: readonly string[], userIds: readonly string[]): Promise<void> {
    const isOfThem = (value: unknown) => userIds.some((userId) => userId === value);
    for (const [name, documents] of this.collections) {
      if (current.includes(name)) continue;
      for (const [id, { document }] of documents)
        if (isOfThem(id) || isOfThem(document['userId'])) documents.delete(id);
    }
    return Promise.resolve();
  }

  keepDigest(projection: string, digest: string): Promise<string> {
    const kept = this.digests.get(projection) ?? digest;
    this.digests.set(projection, kept);
    return Promise.resolve(kept);
  }

  position(projection: string): Promise<number> {
    return Promise.resolve(this.stored.get(projection)?.position ?? 0);
  }

  checkpoints(): Promise<ReadonlyMap<string, Checkpoint>> {
    return Promise.resolve(new Map(this.stored));
  }

  getMany(collection: string, ids: readonly string[]): Promise<Map<string, StoredDocument>> {
    const found = new Map<string, StoredDocument>();
    for (const id of ids) {
      const stored = this.documents(collection).get(id);
      if (stored) found.set(id, copyOf(stored));
    }
    return Promise.resolve(found);
  }

  find(
    collection: string,
    { filter = {}, sort = [], skip = 0, limit = 1_000 }: FindOptions,
  ): Promise<StoredDocument[]> {
    const found = this.all(collection).filter(matcherOf(filter));
    const members = sort.map(([member, direction]) => ({ path: member.split('.'), direction }));
    found.sort((left, right) => {
      for (const { path, direction } of members) {
        const order = compare(valueAt(left, path), valueAt(right, path));
        if (order !== 0) return direction === 'asc' ? order : -order;
      }
      return 0;
    });
    return Promise.resolve(found.slice(skip, skip + limit).map(copyOf));
  }

  count(collection: string, filter: Filter): Promise<number> {
    return Promise.resolve(this.all(collection).filter(matcherOf(filter)).length);
  }

  search: ReadStore['search'] = async (collection, { direction, limit, after, ...search }, budget) => {
    const hits = await this.hits(collection, search, budget);
    if (direction === 'desc') hits.reverse();
    const sign = direction === 'asc' ? 1 : -1;
    return hits.filter((hit) => !after || sign * compareHits(hit, after) > 0).slice(0, limit);
  };

  countFound: ReadStore['countFound'] = async (collection, search, budget) =>
    (await this.hits(collection, search, budget)).length;

  getFound: ReadStore['getFound'] = async (collection, references, budget) => {
    budget.check();
    const found = await this.getMany(collection, references.map(String));
    return references.flatMap((reference) => found.get(String(reference)) ?? []);
  };

  lease: ReadStore['lease'] = (name) => this.coordination.lease(name);
  replaceLease: ReadStore['replaceLease'] = (name, expected, next) =>
    this.coordination.replaceLease(name, expected, next);
  renewLease: ReadStore['renewLease'] = (name, lease) => this.coordination.renewLease(name, lease);
  addPoints: ReadStore['addPoints'] = (points, nowMs) => this.coordination.addPoints(points, nowMs);
  forgetPoints: ReadStore['forgetPoints'] = (nowMs) => this.coordination.forgetPoints(nowMs);
  announce: ReadStore['announce'] = (kind, announcement) => this.coordination.announce(kind, announcement);
  announcements: ReadStore['announcements'] = (kind) => this.coordination.announcements(kind);
  withdraw: ReadStore['withdraw'] = (kind, announcement) => this.coordination.withdraw(kind, announcement);

  close(): Promise<void> {
    return Promise.resolve();
  }

  private documents(collection: string): Map<string, Kept> {
    const documents = this.collections.get(collection);
    if (!documents) throw new Error(`collection ${collection} is not defined`);
    return documents;
  }

  private async hits(collection: string, { anyOf, from, to }: Search, budget: QueryBudget): Promise<Hit[]> {
    await Promise.resolve();
    budget.check();
    const index = this.searches.get(collection);
    if (!index) throw new Error('the collection has no search index');
    const isWanted = ({ id, document }: Kept) => {
      const segment = index.segment(id, document);
      const terms = new Set(index.terms(id, document));
      return anyOf.some((one) => one.segment === segment && one.terms.every((term) => terms.has(term)));
    };
    return this.all(collection)
      .filter(isWanted)
      .map(({ id, document }) => ({ order: index.order(id, document), reference: id }))
      .filter(({ order }) => order >= from && order <= to)
      .sort(compareHits);
  }

  private all(collection: string): Kept[] {
    return [...this.documents(collection).values()];
  }
}

const copyOf = ({ id, position, text }: Kept): StoredDocument => ({
  id,
  position,
  document: JSON.parse(text) as JsonObject,
});

/** Returns `null` for a missing value. Elements of a list cannot be reached. */
const valueAt = ({ id, document }: StoredDocument, path: readonly string[]): unknown => {
  if (path[0] === 'id' && path.length === 1) return id;
  let value: unknown = document;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) return null;
    value = (value as JsonObject)[name];
  }
  return value ?? null;
};

/** Orders missing values before numbers before text, as the engines do; other values come last. */
const rank = (value: unknown): number =>
  value === null ? 0 : typeof value === 'number' ? 1 : typeof value === 'string' ? 2 : 3;

const compare = (left: unknown, right: unknown): number => {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left === 'string' && typeof right === 'string') return left === right ? 0 : left < right ? -1 : 1;
  return rank(left) - rank(right);
};

const compareHits = (one: Hit, other: Hit): number =>
  one.order - other.order || compare(one.reference, other.reference);

type Wanted = Filter[string];

const matcherOf = (filter: Filter): ((stored: StoredDocument) => boolean) => {
  const members = Object.entries(filter).map(([member, wanted]) => ({ path: member.split('.'), wanted }));
  return (stored) => members.every(({ path, wanted }) => isWanted(valueAt(stored, path), wanted));
};

const isWanted = (value: unknown, wanted: Wanted): boolean => {
  if (typeof wanted !== 'object' || wanted === null) return value === wanted;
  if ('in' in wanted) return wanted.in.some((one) => one !== null && one === value);
  const within = (bound: unknown, holds: (order: number) => boolean): boolean =>
    bound === undefined || (typeof bound !== 'object' && typeof bound === typeof value && holds(compare(value, bound)));
  return (
    within(wanted.gte, (order) => order >= 0) &&
    within(wanted.lte, (order) => order <= 0) &&
    within(wanted.gt, (order) => order > 0) &&
    within(wanted.lt, (order) => order < 0)
  );
};
