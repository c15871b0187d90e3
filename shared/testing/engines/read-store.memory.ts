import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../schemas/json.ts';
import type { EventPlace } from '../event-store/event-store.ts';
import type { FormerCollection } from './former-collections/former-collection.ts';
import type { QueryBudget } from './query-budget.ts';
import type {
  Announcement,
  Checkpoint,
  Counted,
  CollectionDefinition,
  DocumentChange,
  Filter,
  FindOptions,
  Hit,
  Lease,
  PointsToAdd,
  ReadStore,
  Search,
  SearchIndex,
  StoredDocument,
} from './read-store.ts';

/** A document that nobody outside is given, and the text of which copies are made. It is parsed when it is looked for. */
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
  private readonly leases = new Map<string, Lease>();
  private readonly counts = new Map<string, Counted>();
  private readonly announced = new Map<string, Map<string, string>>();

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

  lease(name: string): Promise<Lease | undefined> {
    return Promise.resolve(this.leases.get(name));
  }

  replaceLease(name: string, expected: Lease | undefined, next: Lease): Promise<boolean> {
    const isCurrent = isDeepStrictEqual(this.leases.get(name), expected);
    if (isCurrent) this.leases.set(name, { ...next });
    return Promise.resolve(isCurrent);
  }

  addPoints(added: readonly PointsToAdd[], nowMs: number): Promise<Map<string, Counted>> {
    const counted = added.map(({ id, points, windowMs }) => {
      const before = this.counts.get(id);
      const lasts = before !== undefined && before.endsAt > nowMs;
      const after = lasts ? { ...before, points: before.points + points } : { points, endsAt: nowMs + windowMs };
      this.counts.set(id, after);
      return [id, { ...after }] as const;
    });
    return Promise.resolve(new Map(counted));
  }

  forgetPoints(nowMs: number): Promise<void> {
    for (const [id, { endsAt }] of this.counts) if (endsAt <= nowMs) this.counts.delete(id);
    return Promise.resolve();
  }

  announce(kind: string, announcement: Announcement): Promise<void> {
    const ofKind = this.announced.get(kind) ?? new Map<string, string>();
    this.announced.set(kind, ofKind.set(announcement.id, JSON.stringify(announcement)));
    return Promise.resolve();
  }

  announcements(kind: string): Promise<Announcement[]> {
    const texts = [...(this.announced.get(kind)?.values() ?? [])];
    return Promise.resolve(
      texts.map((text) => JSON.parse(text) as Announcement).sort((one, other) => compare(one.id, other.id)),
    );
  }

  async withdraw(kind: string, { id, renewals }: Pick<Announcement, 'id' | 'renewals'>): Promise<void> {
    const current = (await this.announcements(kind)).find((announcement) => announcement.id === id);
    if (current?.renewals === renewals) this.announced.get(kind)?.delete(id);
  }

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
