import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import type { EventPlace, Position } from '../event-store/event-store.ts';
import { Announcements } from './announcements.mongo.ts';
import { CountedPoints } from './counted-points.mongo.ts';
import { FormerCollections } from './former-collections/former-collections.mongo.ts';
import { openDatabase, type MongoDatabase, type MongoOptions } from './mongo-database.mongo.ts';
import { duplicatesAmong, nameTooLarge, unlessDuplicate } from './mongo-answers.mongo.ts';
import { decodeDocument, encodeDocument, type EncodedObject } from './mongo-document.ts';
import { mongoFilter, mongoPath, mongoSort } from './mongo-filter.ts';
import { searched, searchIndexKeys, Searching, type Searched } from './searching.mongo.ts';
import type {
  Checkpoint,
  Counted,
  CollectionDefinition,
  DocumentChange,
  Filter,
  FindOptions,
  Lease,
  PointsToAdd,
  ReadStore,
  SearchIndex,
  StoredDocument,
} from './read-store.ts';

/**
 * The stored form. It changes only by a new version. The caller's document is nested, so none of its members is ours.
 */
interface MongoDocument {
  _id: string;
  /** The maximum of all that were put here. MongoDB compares member by member, in this order. */
  newest: { position: Position; document: EncodedObject; search?: Searched };
}

/** Collections of read models must not begin with `_`. */
const POSITIONS = '_positions';
const LEASES = '_leases';
const FIND_LIMIT_DEFAULT = 1_000;
/** Writes in one message: few enough for a slow server within the deadline of a call. */
const WRITES_MAX = 1_000;

/**
 * The read store on MongoDB. A batch is one unit of effect without a transaction: a document is only replaced by a
 * newer one, and the position is stored after all documents, so that after a failure in between the same batch is
 * applied again.
 */
export class MongoReadStore implements ReadStore {
  private readonly defined = new Map<string, SearchIndex | undefined>();
  private readonly counted: CountedPoints;
  private readonly announced: Announcements;
  private readonly former: FormerCollections;
  private readonly searching: Searching;

  private constructor(private readonly database: MongoDatabase) {
    this.counted = new CountedPoints(database);
    this.announced = new Announcements(database);
    this.former = new FormerCollections(database);
    this.searching = new Searching(database);
  }

  /**
   * @throws CannotStart when no server answers in time, refuses us, or acknowledges writes that can be lost in
   * production
   */
  static async connect(options: MongoOptions): Promise<MongoReadStore> {
    return new MongoReadStore(await openDatabase(options));
  }

  /** Has no deadline: building an index on existing documents may take long. */
  async define(collections: readonly CollectionDefinition[]): Promise<void> {
    for (const { name, indexes, search } of collections) {
      this.defined.set(name, search);
      const byMembers = indexes.map((members) =>
        Object.fromEntries(members.map((member) => [mongoPath(member), 1] as const)),
      );
      for (const index of [...byMembers, ...(search ? [searchIndexKeys] : [])]) {
        await this.documents(name).createIndex(index, {}, {});
      }
    }
  }

  async apply(
    projection: string,
    changes: readonly DocumentChange[],
    position: Position,
    event?: EventPlace,
  ): Promise<void> {
    const byCollection = Map.groupBy(changes, ({ collection }) => collection);
    for (const [collection, ofCollection] of byCollection) await this.put(collection, ofCollection);
    await this.saveCheckpoint(projection, { position, ...(event && { event }) });
  }

  forgetReplaced(): Promise<void> {
    return Promise.resolve();
  }

  formerCollections: ReadStore['formerCollections'] = (current) => this.former.list(current);
  removeFromFormer: ReadStore['removeFromFormer'] = (current, userIds) => this.former.remove(current, userIds);

  async keepDigest(projection: string, digest: string): Promise<string> {
    const unknown = { _id: projection, digest: { $exists: false } };
    const kept = this.positions.updateOne(
      unknown,
      { $set: { digest }, $setOnInsert: { position: 0 } },
      { upsert: true },
    );
    await this.database.withDeadline(kept.catch(unlessDuplicate(undefined)));
    const stored = await this.database.withDeadline(this.positions.findOne({ _id: projection }));
    return stored?.digest ?? digest;
  }

  async position(projection: string): Promise<Position> {
    const stored = await this.database.withDeadline(this.positions.findOne({ _id: projection }));
    return stored?.position ?? 0;
  }

  async checkpoints(): Promise<ReadonlyMap<string, Checkpoint>> {
    const stored = await this.database.withDeadline(this.positions.find({}, { projection: { digest: 0 } }).toArray());
    return new Map(stored.map(({ _id, ...checkpoint }) => [_id, checkpoint]));
  }

  async getMany(collection: string, ids: readonly string[]): Promise<Map<string, StoredDocument>> {
    const wanted = { _id: { $in: [...ids] } };
    const cursor = this.documents(collection).find(wanted, { batchSize: ids.length + 1 });
    return new Map(
      (await this.database.withDeadline(cursor.toArray())).map(toStored).map((stored) => [stored.id, stored]),
    );
  }

  async find(
    collection: string,
    { filter = {}, sort = [], skip = 0, limit = FIND_LIMIT_DEFAULT }: FindOptions,
  ): Promise<StoredDocument[]> {
    // For MongoDB a limit of 0 means no limit.
    if (limit === 0) return [];
    const options = { sort: mongoSort(sort), skip, limit, batchSize: limit };
    const cursor = this.documents(collection).find(mongoFilter(filter), options);
    return (await this.database.withDeadline(cursor.toArray())).map(toStored);
  }

  count(collection: string, filter: Filter): Promise<number> {
    return this.database.withDeadline(this.documents(collection).countDocuments(mongoFilter(filter)));
  }

  search: ReadStore['search'] = async (name, search, budget) => {
    const found = await this.searching.hits(this.documents(name), search, budget);
    return found.map(({ _id, newest }) => ({ order: newest.search?.order ?? 0, reference: _id }));
  };
  countFound: ReadStore['countFound'] = (name, search, budget) =>
    this.searching.count(this.documents(name), search, budget);
  getFound: ReadStore['getFound'] = async (name, references, budget) => {
    const found = (await this.searching.documents(this.documents(name), references.map(String), budget)).map(toStored);
    const byId = new Map(found.map((stored) => [stored.id, stored]));
    return references.flatMap((reference) => byId.get(String(reference)) ?? []);
  };

  async lease(name: string): Promise<Lease | undefined> {
    const stored = await this.database.withDeadline(this.leases.findOne({ _id: name }, { projection: { _id: 0 } }));
    return stored ?? undefined;
  }

  async replaceLease(name: string, expected: Lease | undefined, next: Lease): Promise<boolean> {
    const { holder, epoch, renewals } = next;
    if (!expected) {
      const inserted = this.leases.insertOne({ _id: name, holder, epoch, renewals });
      return this.database.withDeadline(inserted.then(() => true, unlessDuplicate(false)));
    }
    const current = { _id: name, holder: expected.holder, epoch: expected.epoch, renewals: expected.renewals };
    const { matchedCount } = await this.database.withDeadline(
      this.leases.updateOne(current, { $set: { holder, epoch, renewals } }),
    );
    return matchedCount === 1;
  }

  addPoints(points: readonly PointsToAdd[], nowMs: number): Promise<Map<string, Counted>> {
    return this.counted.add(points, nowMs);
  }

  forgetPoints(nowMs: number): Promise<void> {
    return this.counted.forget(nowMs);
  }

  announce: ReadStore['announce'] = (kind, announcement) => this.announced.announce(kind, announcement);
  announcements: ReadStore['announcements'] = (kind) => this.announced.of(kind);
  withdraw: ReadStore['withdraw'] = (kind, announcement) => this.announced.withdraw(kind, announcement);

  close(): Promise<void> {
    return this.database.close();
  }

  /** Repeats writes that met a duplicate key: another process inserted the document first, so now it is updated. */
  private async put(name: string, changes: readonly DocumentChange[]): Promise<void> {
    const [isNew, others] = [changes.filter((one) => one.isNew), changes.filter((one) => !one.isNew)];
    const isTaken = await this.write(name, isNew, insertion);
    const isThere = await this.write(name, [...others, ...isTaken], update);
    await this.write(name, isThere, update);
  }

  /** @returns the changes that met a duplicate key and were not written */
  private async write(
    name: string,
    changes: readonly DocumentChange[],
    operation: (change: DocumentChange, search: SearchIndex | undefined) => AnyBulkWriteOperation<MongoDocument>,
  ): Promise<DocumentChange[]> {
    const duplicates: DocumentChange[] = [];
    for (let from = 0; from < changes.length; from += WRITES_MAX) {
      const some = changes.slice(from, from + WRITES_MAX);
      const written = this.documents(name).bulkWrite(
        some.map((change) => operation(change, this.defined.get(name))),
        { ordered: false },
      );
      const among = await this.database
        .withDeadline(written.then(() => [], duplicatesAmong(some)))
        .catch(nameTooLarge(some));
      duplicates.push(...among);
    }
    return duplicates;
  }

  /** A duplicate key means that the stored position is newer, or that another process has just stored the first one. */
  private async saveCheckpoint(projection: string, checkpoint: Checkpoint): Promise<void> {
    const older = { _id: projection, position: { $lte: checkpoint.position } };
    const save = (options: { upsert: boolean }) => this.positions.updateOne(older, { $set: checkpoint }, options);
    await this.database.withDeadline(
      save({ upsert: true })
        .catch(unlessDuplicate(undefined))
        .then((saved) => saved ?? save({ upsert: false })),
    );
  }

  private get positions(): Collection<Checkpoint & { _id: string; digest?: string }> {
    return this.database.db.collection(POSITIONS);
  }

  private get leases(): Collection<Lease & { _id: string }> {
    return this.database.db.collection(LEASES);
  }

  private documents(name: string): Collection<MongoDocument> {
    if (!this.defined.has(name)) throw new Error(`collection ${name} is not defined`);
    return this.database.db.collection(name);
  }
}

const newest = (
  { id, position, document }: DocumentChange,
  search: SearchIndex | undefined,
): MongoDocument['newest'] => ({
  position,
  document: encodeDocument(document),
  ...(search && { search: searched(search, id, document) }),
});

const insertion = (change: DocumentChange, search: SearchIndex | undefined): AnyBulkWriteOperation<MongoDocument> => ({
  insertOne: { document: { _id: change.id, newest: newest(change, search) } },
});

const update = (change: DocumentChange, search: SearchIndex | undefined): AnyBulkWriteOperation<MongoDocument> => ({
  updateOne: { filter: { _id: change.id }, update: { $max: { newest: newest(change, search) } }, upsert: true },
});

const toStored = ({ _id, newest: { position, document } }: MongoDocument): StoredDocument => ({
  id: _id,
  position,
  document: decodeDocument(document),
});
