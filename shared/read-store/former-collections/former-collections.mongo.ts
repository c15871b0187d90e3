import type { Collection } from 'mongodb';
import type { MongoDatabase } from '../mongodb/mongo-database.mongo.ts';
import { REMOVED_AT_ONCE, SAMPLED, type FormerCollection } from './former-collection.ts';

/** The part of the stored form that is read here. */
interface Stored {
  _id: string;
  newest?: { position?: number; document?: { userId?: string | null } };
}
const USER = 'newest.document.userId';

/** The collections that no definition names any more. */
export class FormerCollections {
  constructor(private readonly database: MongoDatabase) {}

  async list(current: readonly string[]): Promise<FormerCollection[]> {
    const counted = (await this.found(current)).map(async ({ collection }) => ({
      name: collection.collectionName,
      documents: await this.database.withDeadline(collection.estimatedDocumentCount()),
    }));
    return Promise.all(counted);
  }

  async remove(current: readonly string[], userIds: readonly string[]): Promise<void> {
    const ofUsers = { $in: [...userIds] };
    for (const { collection, hasUsers } of await this.found(current)) {
      await this.database.withDeadline(collection.deleteMany({ _id: ofUsers }));
      if (!hasUsers) continue;
      for (let removed = REMOVED_AT_ONCE; removed === REMOVED_AT_ONCE;) {
        const options = { projection: { _id: 1 }, limit: REMOVED_AT_ONCE, batchSize: REMOVED_AT_ONCE };
        const some = await this.database.withDeadline(collection.find({ [USER]: ofUsers }, options).toArray());
        await this.database.withDeadline(collection.deleteMany({ _id: { $in: some.map(({ _id }) => _id) } }));
        removed = some.length;
      }
    }
  }

  /** Only collections with the stored form of our documents: other programs may have collections in the database. */
  private async found(current: readonly string[]): Promise<{ collection: Collection<Stored>; hasUsers: boolean }[]> {
    const listed = await this.database.withDeadline(this.database.db.listCollections({}, { nameOnly: true }).toArray());
    const names = listed.map(({ name }) => name).filter((name) => !name.startsWith('_') && !current.includes(name));
    const sampled = names.toSorted().map(async (name) => {
      const collection = this.database.db.collection<Stored>(name);
      const options = { sort: { $natural: -1 }, limit: SAMPLED, batchSize: SAMPLED } as const;
      return { collection, sample: await this.database.withDeadline(collection.find({}, options).toArray()) };
    });
    return (await Promise.all(sampled))
      .filter(({ sample }) => sample.some(({ newest }) => newest?.position !== undefined && newest.document))
      .map(({ collection, sample }) => ({
        collection,
        hasUsers: sample.some(({ newest }) => typeof newest?.document?.userId === 'string'),
      }));
  }
}
