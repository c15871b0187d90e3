import { inPieces } from '../../primitives/in-pieces.ts';
import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import type { EventPlace, Position } from '../../event-store/event-store.ts';
import { MongoCoordination } from '../../coordination/coordination.mongo.ts';
import { FormerCollections } from '../former-collections/former-collections.mongo.ts';
import { MongoVersions } from '../versions/versions.mongo.ts';
import { openDatabase, type MongoDatabase, type MongoOptions } from './mongo-database.mongo.ts';
import { duplicatesAmong, nameTooLarge, notReached, unlessDuplicate } from './mongo-answers.mongo.ts';
import { decodeDocument, encodeDocument, type EncodedObject } from './mongo-document.ts';
import { mongoFilter, mongoPath, mongoSort } from './mongo-filter.ts';
import { searched, searchIndexKeys, Searching, type Searched } from './searching.mongo.ts';
import type {
  Checkpoint,
  CollectionDefinition,
  CollectionSize,
  Correction,
  DocumentChange,
  Filter,
  FindOptions,
  ReadStore,
  SearchIndex,
  StoredDocument,
} from '../read-store.ts';

/**
 * The stored form, which changes only with a new version. The caller's document is nested, so that its members cannot
 * collide with ours.
 */
interface MongoDocument {
  _id: string;
  /** The greatest value ever written here. MongoDB compares member by member, in this order. */
  newest: { position: Position; document: EncodedObject; search?: Searched };
}

/** The part of the answer to `collStats` that is used. */
interface CollectionStatistics {
  count: number;
  /** Of the documents, before compression. */
  size: number;
  totalIndexSize?: number;
}

/** Collections of read models must not begin with `_`. */
const POSITIONS = '_positions';
const FIND_LIMIT_DEFAULT = 1_000;
/** Maximum writes in one message: few enough for a slow server within the deadline of a call. */
const WRITES_MAX = 1_000;

/**
 * The read store on MongoDB. A batch is one unit of effect without a transaction: a document is only replaced by a
 * newer one, and the position is stored after all documents, so that after a failure in between the same batch is
 * applied again.
 */
export class MongoReadStore implements ReadStore {
  private readonly defined = new Map<string, SearchIndex | undefined>();
  private readonly coordination: MongoCoordination;
  private readonly former: FormerCollections;
  private readonly searching: Searching;
  private readonly stored: MongoVersions;

  private constructor(private readonly database: MongoDatabase) {
    this.coordination = new MongoCoordination(database);
    this.former = new FormerCollections(database);
    this.stored = new MongoVersions(database);
    this.searching = new Searching(database);
  }

  /**
   * @throws CannotStart if no server answers in time, a server refuses us, or, in production, acknowledges writes that
   * can be lost
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
        await this.documents(name).createIndex(index, {}, {}).catch(notReached);
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

  async correct(name: string, corrections: readonly Correction[]): Promise<void> {
    for (const { id, expected, correct } of corrections) {
      const stored = { _id: id, 'newest.position': expected };
      const next = correct && newest({ collection: name, ...correct }, this.defined.get(name));
      const done =
        expected === undefined
          ? next && this.documents(name).insertOne({ _id: id, newest: next }).then(nothing, unlessDuplicate(undefined))
          : next
            ? this.documents(name)
                .updateOne(stored, { $set: { newest: next } })
                .then(nothing)
            : this.documents(name).deleteOne(stored).then(nothing);
      if (done) await this.database.withDeadline(done);
    }
  }

  /** MongoDB keeps its indexes with each write, and what a document is searched by is a part of it. */
  async *checkIndexes(): AsyncGenerator<readonly string[]> {
    yield await Promise.resolve([]);
  }

  async sizes(collections: readonly string[]): Promise<ReadonlyMap<string, CollectionSize>> {
    const sized = (await this.storedAmong(collections)).map(async (name) => {
      const found = (await this.database.withDeadline(
        this.database.db.command({ collStats: name }),
      )) as CollectionStatistics;
      return [name, { documents: found.count, bytes: found.size + (found.totalIndexSize ?? 0) }] as const;
    });
    return new Map(await Promise.all(sized));
  }

  versions: ReadStore['versions'] = () => this.stored.all();
  replaceVersions: ReadStore['replaceVersions'] = (...asked) => this.stored.replace(...asked);
  async remove(projection: string, collections: readonly string[]): Promise<void> {
    for (const name of await this.storedAmong(collections)) {
      await this.database.withDeadline(this.database.db.collection(name).drop());
      this.defined.delete(name);
    }
    await this.database.withDeadline(this.positions.deleteOne({ _id: projection }));
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
    // MongoDB takes a limit of 0 for no limit.
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

  lease: ReadStore['lease'] = (...asked) => this.coordination.lease(...asked);
  replaceLease: ReadStore['replaceLease'] = (...asked) => this.coordination.replaceLease(...asked);
  renewLease: ReadStore['renewLease'] = (...asked) => this.coordination.renewLease(...asked);
  addPoints: ReadStore['addPoints'] = (...asked) => this.coordination.addPoints(...asked);
  forgetPoints: ReadStore['forgetPoints'] = (...asked) => this.coordination.forgetPoints(...asked);
  announce: ReadStore['announce'] = (...asked) => this.coordination.announce(...asked);
  announcements: ReadStore['announcements'] = (...asked) => this.coordination.announcements(...asked);
  withdraw: ReadStore['withdraw'] = (...asked) => this.coordination.withdraw(...asked);

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
    for (const some of inPieces(changes, WRITES_MAX)) {
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

  private async storedAmong(names: readonly string[]): Promise<string[]> {
    const listed = this.database.db.listCollections({}, { nameOnly: true }).toArray();
    return (await this.database.withDeadline(listed)).map(({ name }) => name).filter((name) => names.includes(name));
  }

  private get positions(): Collection<Checkpoint & { _id: string; digest?: string }> {
    return this.database.db.collection(POSITIONS);
  }

  private documents(name: string): Collection<MongoDocument> {
    if (!this.defined.has(name)) throw new Error(`collection ${name} is not defined`);
    return this.database.db.collection(name);
  }
}

const nothing = () => undefined;

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
