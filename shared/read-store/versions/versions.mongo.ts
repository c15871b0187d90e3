import type { Collection } from 'mongodb';
import { unlessDuplicate } from '../mongodb/mongo-answers.mongo.ts';
import type { MongoDatabase } from '../mongodb/mongo-database.mongo.ts';
import type { StoredVersions } from './stored-versions.ts';

/** The versions of read models, in a collection of the read store. */
export class MongoVersions {
  constructor(private readonly database: MongoDatabase) {}

  async all(): Promise<ReadonlyMap<string, StoredVersions>> {
    const stored = await this.database.withDeadline(this.versions.find().toArray());
    return new Map(stored.map(({ _id, text }) => [_id, JSON.parse(text) as StoredVersions]));
  }

  async replace(model: string, expected: StoredVersions | undefined, next: StoredVersions): Promise<boolean> {
    const text = JSON.stringify(next);
    if (!expected) {
      const inserted = this.versions.insertOne({ _id: model, text }).then(() => true, unlessDuplicate(false));
      return this.database.withDeadline(inserted);
    }
    const replaced = this.versions.updateOne({ _id: model, text: JSON.stringify(expected) }, { $set: { text } });
    return (await this.database.withDeadline(replaced)).matchedCount === 1;
  }

  private get versions(): Collection<{ _id: string; text: string }> {
    return this.database.db.collection('_versions');
  }
}
