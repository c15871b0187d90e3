import type { Collection } from 'mongodb';
import { openDatabase, type MongoDatabase, type MongoOptions } from '../../read-store/mongodb/mongo-database.mongo.ts';
import { unlessDuplicate } from '../../read-store/mongodb/mongo-answers.mongo.ts';
import {
  foreignCheck,
  vaultDatabase,
  type KeyVault,
  type NewVaultKey,
  type VaultIdentity,
  type VaultKey,
} from '../key-vault.ts';
import { VaultUsers } from './vault-users.mongo.ts';

const THE_IDENTITY = 'identity';

type MongoKey = Omit<VaultKey, 'id'> & { _id: string };

/** The key vault on MongoDB, in a database of its own, so that it can be backed up and guarded by itself. */
export class MongoKeyVault implements KeyVault {
  private readonly users: VaultUsers;

  private constructor(
    private readonly database: MongoDatabase,
    logger: MongoOptions['logger'],
  ) {
    this.users = new VaultUsers(database, logger);
  }

  /** @throws CannotStart as the read store does */
  static async connect({ settings, logger }: MongoOptions): Promise<MongoKeyVault> {
    const MONGO_DATABASE = vaultDatabase(settings.MONGO_DATABASE);
    return new MongoKeyVault(await openDatabase({ settings: { ...settings, MONGO_DATABASE }, logger }), logger);
  }

  async identity(): Promise<VaultIdentity | undefined> {
    const found = this.identities.findOne({ _id: THE_IDENTITY }, { projection: { _id: 0 } });
    return (await this.database.withDeadline(found)) ?? undefined;
  }

  async identify(identity: VaultIdentity, checkBefore: string | undefined): Promise<VaultIdentity> {
    const set =
      checkBefore === undefined
        ? this.identities.insertOne({ _id: THE_IDENTITY, ...identity }).then(nothing, unlessDuplicate(undefined))
        : this.identities.updateOne({ _id: THE_IDENTITY, check: checkBefore }, { $set: identity }).then(nothing);
    await this.database.withDeadline(set);
    const stored = await this.identity();
    if (!stored) throw foreignCheck();
    return stored;
  }

  /**
   * Adds keys without a transaction, which a single server lacks. Compares the check value before and after, so that no
   * key stays that was encrypted with a former master key: either the value is the same afterwards, and a later rewrap
   * finds the keys, or the added keys are removed again before anybody was told of them.
   */
  async add(keys: readonly NewVaultKey[], check: string | undefined): Promise<VaultKey[]> {
    if ((await this.identity())?.check !== check) throw foreignCheck();
    for (const { id, ...key } of keys) {
      const insert = this.keys.updateOne(
        { _id: id },
        { $setOnInsert: { ...key, destroyedAt: null } },
        { upsert: true },
      );
      // A duplicate: another process added the key at the same moment.
      await this.database.withDeadline(insert.then(nothing, unlessDuplicate(undefined)));
    }
    if ((await this.identity())?.check !== check) {
      const added = keys.map(({ id, sealed }) => ({ _id: id, sealed }));
      await this.database.withDeadline(this.keys.deleteMany({ $or: added }));
      throw foreignCheck();
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
    // A duplicate: the key was destroyed before.
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

  use(how: 'shared' | 'alone'): Promise<void> {
    return this.users.use(how);
  }

  async close(): Promise<void> {
    await this.users.leave();
    return this.database.close();
  }

  private get identities(): Collection<VaultIdentity & { _id: string }> {
    return this.database.db.collection('identity');
  }

  private get keys(): Collection<MongoKey> {
    return this.database.db.collection<MongoKey>('keys');
  }
}

const nothing = (): undefined => undefined;

const toKey = ({ _id: id, ...key }: MongoKey): VaultKey => ({ id, ...key });
