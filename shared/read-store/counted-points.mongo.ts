import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import { duplicatesAmong } from './mongo-answers.mongo.ts';
import type { MongoDatabase } from './mongo-database.mongo.ts';
import type { Counted, PointsToAdd } from './read-store.ts';

interface CountedDocument {
  _id: string;
  points: number;
  /** Unix milliseconds. */
  endsAt: number;
}

const COLLECTION = '_points';

/** What callers used up of limits. A count is added to while its time lasts; the first that comes after begins another. */
export class CountedPoints {
  constructor(private readonly database: MongoDatabase) {}

  async add(points: readonly PointsToAdd[], nowMs: number): Promise<Map<string, Counted>> {
    if (points.length === 0) return new Map();
    await this.write(points.map((one) => addition(one, { endsAt: { $gt: nowMs } })));
    const counted = await this.find(points);
    const isOver = ({ id }: PointsToAdd) => (counted.get(id)?.endsAt ?? 0) <= nowMs;
    const over = points.filter(isOver);
    if (over.length === 0) return counted;
    const begun = await this.write(over.map((one) => beginning(one, nowMs)));
    // Another process began it meanwhile.
    if (begun.length > 0) await this.write(begun.map((at) => addition(over[at] ?? NOTHING, {})));
    for (const [id, found] of await this.find(over)) counted.set(id, found);
    return counted;
  }

  async forget(nowMs: number): Promise<void> {
    await this.database.withDeadline(this.documents.deleteMany({ endsAt: { $lte: nowMs } }));
  }

  private async find(points: readonly PointsToAdd[]): Promise<Map<string, Counted>> {
    const cursor = this.documents.find({ _id: { $in: points.map(({ id }) => id) } }, { batchSize: points.length + 1 });
    const found = await this.database.withDeadline(cursor.toArray());
    return new Map(found.map(({ _id, points: used, endsAt }) => [_id, { points: used, endsAt }]));
  }

  /** @returns which of them met a duplicate key and were not written */
  private write(operations: AnyBulkWriteOperation<CountedDocument>[]): Promise<number[]> {
    const written = this.documents.bulkWrite(operations, { ordered: false });
    return this.database.withDeadline(written.then(() => [], duplicatesAmong([...operations.keys()])));
  }

  private get documents(): Collection<CountedDocument> {
    return this.database.db.collection(COLLECTION);
  }
}

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
