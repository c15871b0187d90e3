import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import type { JsonObject } from '../../schemas/json.ts';
import { duplicatesAmong, unlessDuplicate } from '../read-store/mongodb/mongo-answers.mongo.ts';
import type { MongoDatabase } from '../read-store/mongodb/mongo-database.mongo.ts';
import type { Announcement, Coordination, Counted, Lease, PointsToAdd } from './coordination.ts';

interface CountedDocument extends Counted {
  _id: string;
}

/** The stored form. The document is text, so that none of its members has a meaning to the engine. */
interface AnnouncementDocument extends Omit<Announcement, 'document'> {
  _id: string;
  kind: string;
  document: string;
}

/** What processes share, in the database of the read store on MongoDB. */
export class MongoCoordination implements Coordination {
  constructor(private readonly database: MongoDatabase) {}

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

  async renewLease(name: string, { holder, epoch }: Pick<Lease, 'holder' | 'epoch'>): Promise<Lease | undefined> {
    const renewed = await this.database.withDeadline(
      this.leases.findOneAndUpdate(
        { _id: name, holder, epoch },
        { $inc: { renewals: 1 } },
        { returnDocument: 'after', projection: { _id: 0 } },
      ),
    );
    return renewed ?? undefined;
  }

  /** A counter grows until its window ends; the next addition starts a new window. */
  async addPoints(points: readonly PointsToAdd[], nowMs: number): Promise<Map<string, Counted>> {
    if (points.length === 0) return new Map();
    await this.writePoints(points.map((one) => addition(one, { endsAt: { $gt: nowMs } })));
    const counted = await this.findPoints(points);
    const isOver = ({ id }: PointsToAdd) => (counted.get(id)?.endsAt ?? 0) <= nowMs;
    const over = points.filter(isOver);
    if (over.length === 0) return counted;
    const begun = await this.writePoints(over.map((one) => beginning(one, nowMs)));
    // Another process started the window meanwhile.
    if (begun.length > 0) await this.writePoints(begun.map((at) => addition(over[at] ?? NOTHING, {})));
    for (const [id, found] of await this.findPoints(over)) counted.set(id, found);
    return counted;
  }

  async forgetPoints(nowMs: number): Promise<void> {
    await this.database.withDeadline(this.points.deleteMany({ endsAt: { $lte: nowMs } }));
  }

  async announce(kind: string, { id, renewals, document }: Announcement): Promise<void> {
    const replacement = { kind, id, renewals, document: JSON.stringify(document) };
    const replaced = this.announced.replaceOne({ _id: keyOf(kind, id) }, replacement, { upsert: true });
    await this.database.withDeadline(replaced);
  }

  async announcements(kind: string): Promise<Announcement[]> {
    const found = await this.database.withDeadline(this.announced.find({ kind }, { sort: { _id: 1 } }).toArray());
    return found.map(({ id, renewals, document }) => ({
      id,
      renewals,
      document: JSON.parse(document) as JsonObject,
    }));
  }

  async withdraw(kind: string, { id, renewals }: Pick<Announcement, 'id' | 'renewals'>): Promise<void> {
    await this.database.withDeadline(this.announced.deleteOne({ _id: keyOf(kind, id), renewals }));
  }

  private async findPoints(points: readonly PointsToAdd[]): Promise<Map<string, Counted>> {
    const cursor = this.points.find({ _id: { $in: points.map(({ id }) => id) } }, { batchSize: points.length + 1 });
    const found = await this.database.withDeadline(cursor.toArray());
    return new Map(found.map(({ _id, points: used, endsAt }) => [_id, { points: used, endsAt }]));
  }

  /** @returns the indexes of the operations that met a duplicate key and were not written */
  private writePoints(operations: AnyBulkWriteOperation<CountedDocument>[]): Promise<number[]> {
    const written = this.points.bulkWrite(operations, { ordered: false });
    return this.database.withDeadline(written.then(() => [], duplicatesAmong([...operations.keys()])));
  }

  private get leases(): Collection<Lease & { _id: string }> {
    return this.database.db.collection('_leases');
  }

  private get points(): Collection<CountedDocument> {
    return this.database.db.collection('_points');
  }

  private get announced(): Collection<AnnouncementDocument> {
    return this.database.db.collection('_announcements');
  }
}

const keyOf = (kind: string, id: string): string => `${kind}/${id}`;

const NOTHING: PointsToAdd = { id: '', points: 0, windowMs: 0 };

const addition = (
  { id, points }: PointsToAdd,
  condition: { endsAt?: { $gt: number } },
): AnyBulkWriteOperation<CountedDocument> => ({
  updateOne: { filter: { _id: id, ...condition }, update: { $inc: { points } } },
});

const beginning = ({ id, points, windowMs }: PointsToAdd, nowMs: number): AnyBulkWriteOperation<CountedDocument> => ({
  updateOne: {
    filter: { _id: id, endsAt: { $lte: nowMs } },
    update: { $set: { points, endsAt: nowMs + windowMs } },
    upsert: true,
  },
});
