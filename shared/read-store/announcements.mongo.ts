import type { Collection } from 'mongodb';
import type { JsonObject } from '../../schemas/json.ts';
import type { MongoDatabase } from './mongo-database.mongo.ts';
import type { Announcement } from './read-store.ts';

/** The stored form. The document is text, so that none of its members has a meaning to the engine. */
interface AnnouncementDocument {
  _id: string;
  kind: string;
  id: string;
  renewals: number;
  document: string;
}

const COLLECTION = '_announcements';

/** What processes say of themselves. */
export class Announcements {
  constructor(private readonly database: MongoDatabase) {}

  async announce(kind: string, { id, renewals, document }: Announcement): Promise<void> {
    const replacement = { kind, id, renewals, document: JSON.stringify(document) };
    const replaced = this.documents.replaceOne({ _id: keyOf(kind, id) }, replacement, { upsert: true });
    await this.database.withDeadline(replaced);
  }

  async of(kind: string): Promise<Announcement[]> {
    const found = await this.database.withDeadline(this.documents.find({ kind }, { sort: { _id: 1 } }).toArray());
    return found.map(({ id, renewals, document }) => ({
      id,
      renewals,
      document: JSON.parse(document) as JsonObject,
    }));
  }

  async withdraw(kind: string, { id, renewals }: Pick<Announcement, 'id' | 'renewals'>): Promise<void> {
    await this.database.withDeadline(this.documents.deleteOne({ _id: keyOf(kind, id), renewals }));
  }

  private get documents(): Collection<AnnouncementDocument> {
    return this.database.db.collection(COLLECTION);
  }
}

const keyOf = (kind: string, id: string): string => `${kind}/${id}`;
