import type { Collection } from 'mongodb';
import { openDatabase, type MongoDatabase, type MongoOptions } from '../read-store/mongo-database.mongo.ts';
import { unlessDuplicate } from '../read-store/mongo-answers.mongo.ts';
import type { KeyVault, NewVaultKey, VaultKey } from './key-vault.ts';

type MongoKey = Omit<VaultKey, 'id'> & { _id: string };

/** The key vault on MongoDB, in a database of its own, so that it can be backed up and guarded by itself. */
export class MongoKeyVault implements KeyVault {
  private constructor(private readonly database: MongoDatabase) {}

  /** @throws CannotStart as the read store does */
  static async connect({ settings, logger }: MongoOptions): Promise<MongoKeyVault> {
    const MONGO_DATABASE = `${settings.MONGO_DATABASE}_vault`;
    return new MongoKeyVault(await openDatabase({ settings: { ...settings, MONGO_DATABASE }, logger }));
  }

  async add(keys: readonly NewVaultKey[]): Promise<VaultKey[]> {
    for (const { id, ...key } of keys) {
      const insert = this.keys.updateOne(
        { _id: id },
        { $setOnInsert: { ...key, destroyedAt: null } },
        { upsert: true },
      );
      // A duplicate: another process has added it at the same moment.
      await this.database.withDeadline(insert.then(nothing, unlessDuplicate(undefined)));
    }
    const known = await this.get(keys.map(({ id }) => id));
    return keys.map(({ id }) => {
      const key = known.get(id);
      if (!key) throw new Error('the key that was added is missing');
      return key;
    });
  }

  async get(ids: readonly string[]): Promise<ReadonlyMap<string, VaultKey>> {
    const found = await this.database.withDeadline(this.keys.find({ _id: { $in: [...ids] } }).toArray());
    return new Map(found.map((key) => [key._id, toKey(key)]));
  }

  async destroy(id: string, at: string): Promise<void> {
    const update = this.keys.updateOne(
      { _id: id, destroyedAt: null },
      { $set: { sealed: null, destroyedAt: at }, $setOnInsert: { createdAt: at } },
      { upsert: true },
    );
    // A duplicate: it was destroyed before.
    await this.database.withDeadline(update.then(nothing, unlessDuplicate(undefined)));
  }

  async reseal(id: string, before: string, sealed: string): Promise<boolean> {
    const update = this.keys.updateOne({ _id: id, sealed: before }, { $set: { sealed } });
    return (await this.database.withDeadline(update)).modifiedCount === 1;
  }

  async list(after: string, limit: number): Promise<VaultKey[]> {
    const page = this.keys
      .find({ _id: { $gt: after } })
      .sort({ _id: 1 })
      .limit(limit);
    return (await this.database.withDeadline(page.toArray())).map(toKey);
  }

  close(): Promise<void> {
    return this.database.close();
  }

  private get keys(): Collection<MongoKey> {
    return this.database.db.collection<MongoKey>('keys');
  }
}

const nothing = (): undefined => undefined;

const toKey = ({ _id: id, ...key }: MongoKey): VaultKey => ({ id, ...key });
