import { AsyncLocalStorage } from 'node:async_hooks';
import type { Position } from '../../event-store/event-store.ts';
import type { CollectionDefinition, ReadStore } from '../read-store.ts';
import { FIRST_ONLY, nameInVersion, type StoredVersions } from './stored-versions.ts';

/** How long a process may read the former version after a switch. To look costs less than a query does. */
export const FOLLOWS_WITHIN_MS = 20;

interface VersionedModel {
  name: string;
  collections: Readonly<Record<string, CollectionDefinition>>;
}

/** The versions that a query has begun to read, by read model. */
const pinned = new AsyncLocalStorage<Map<string, number>>();

/** Runs a query. What it reads of a read model is all of one version, even if the operator switches meanwhile. */
export const readingOneVersion = <Answer>(query: () => Promise<Answer>): Promise<Answer> =>
  pinned.run(new Map(), query);

/** Returns the store below the versions, where each version has its own names. */
export const storedUnder = (readStore: ReadStore): ReadStore =>
  readStore instanceof VersionedReadStore ? readStore.stored : readStore;

/**
 * A read store in which the names of read models and of their collections mean the version that the operator has
 * chosen. A process follows a switch within 20 ms, and goes on with the former version until the chosen one has all
 * that the process has seen. Both are complete and kept up to date, so it does not matter that others may be sooner.
 */
export class VersionedReadStore implements ReadStore {
  private readonly models = new Map<string, VersionedModel>();
  private readonly reading = new Map<string, number>();
  /** The newest position of each read model that was returned. */
  private readonly seen = new Map<string, Position>();
  private readonly defined = new Set<string>();
  private lookedAt = -Infinity;
  private looking: Promise<void> | undefined;

  constructor(
    readonly stored: ReadStore,
    models: readonly VersionedModel[],
    private readonly now = () => performance.now(),
  ) {
    for (const model of models) {
      const names = Object.values(model.collections).map(({ name }) => name);
      for (const name of [model.name, ...names]) this.models.set(name, model);
    }
  }

  define: ReadStore['define'] = (collections) => this.stored.define(collections);
  apply: ReadStore['apply'] = (...asked) => this.stored.apply(...asked);
  forgetReplaced: ReadStore['forgetReplaced'] = () => this.stored.forgetReplaced();
  correct: ReadStore['correct'] = (...asked) => this.stored.correct(...asked);
  checkIndexes: ReadStore['checkIndexes'] = (...asked) => this.stored.checkIndexes(...asked);
  sizes: ReadStore['sizes'] = (collections) => this.stored.sizes(collections);
  keepDigest: ReadStore['keepDigest'] = (...asked) => this.stored.keepDigest(...asked);
  checkpoints: ReadStore['checkpoints'] = () => this.stored.checkpoints();
  versions: ReadStore['versions'] = () => this.stored.versions();
  replaceVersions: ReadStore['replaceVersions'] = (...asked) => this.stored.replaceVersions(...asked);
  remove: ReadStore['remove'] = (...asked) => this.stored.remove(...asked);
  lease: ReadStore['lease'] = (name) => this.stored.lease(name);
  replaceLease: ReadStore['replaceLease'] = (...asked) => this.stored.replaceLease(...asked);
  renewLease: ReadStore['renewLease'] = (...asked) => this.stored.renewLease(...asked);
  addPoints: ReadStore['addPoints'] = (...asked) => this.stored.addPoints(...asked);
  forgetPoints: ReadStore['forgetPoints'] = (nowMs) => this.stored.forgetPoints(nowMs);
  announce: ReadStore['announce'] = (...asked) => this.stored.announce(...asked);
  announcements: ReadStore['announcements'] = (kind) => this.stored.announcements(kind);
  withdraw: ReadStore['withdraw'] = (...asked) => this.stored.withdraw(...asked);
  close: ReadStore['close'] = () => this.stored.close();

  formerCollections: ReadStore['formerCollections'] = async (current) =>
    this.stored.formerCollections(await this.withVersions(current));
  removeFromFormer: ReadStore['removeFromFormer'] = async (current, userIds) =>
    this.stored.removeFromFormer(await this.withVersions(current), userIds);

  async position(projection: string): Promise<Position> {
    const position = await this.stored.position(await this.storedName(projection));
    if (this.models.has(projection)) this.seen.set(projection, Math.max(position, this.seen.get(projection) ?? 0));
    return position;
  }

  getMany: ReadStore['getMany'] = async (name, ids) => this.stored.getMany(await this.storedName(name), ids);
  find: ReadStore['find'] = async (name, options) => this.stored.find(await this.storedName(name), options);
  count: ReadStore['count'] = async (name, filter) => this.stored.count(await this.storedName(name), filter);
  search: ReadStore['search'] = async (name, ...asked) => this.stored.search(await this.storedName(name), ...asked);
  countFound: ReadStore['countFound'] = async (name, ...asked) =>
    this.stored.countFound(await this.storedName(name), ...asked);
  getFound: ReadStore['getFound'] = async (name, ...asked) =>
    this.stored.getFound(await this.storedName(name), ...asked);

  private async storedName(name: string): Promise<string> {
    const model = this.models.get(name);
    if (!model) return name;
    const begun = pinned.getStore();
    const pin = begun?.get(model.name);
    if (pin !== undefined) return nameInVersion(name, pin);
    if (this.now() - this.lookedAt >= FOLLOWS_WITHIN_MS) await this.look();
    const number = this.reading.get(model.name) ?? FIRST_ONLY.current;
    // Another read of this query may have been sooner.
    const read = begun?.get(model.name) ?? number;
    begun?.set(model.name, read);
    return nameInVersion(name, read);
  }

  private look(): Promise<void> {
    this.looking ??= this.follow().finally(() => {
      this.looking = undefined;
    });
    return this.looking;
  }

  private async follow(): Promise<void> {
    const lookedAt = this.now();
    const all = await this.stored.versions();
    for (const model of new Set(this.models.values())) {
      const known = all.get(model.name) ?? FIRST_ONLY;
      const from = this.reading.get(model.name);
      if (from === known.current) continue;
      await this.defineVersion(model, known.current);
      const reached = await this.stored.position(nameInVersion(model.name, known.current));
      const stays = from !== undefined && isLive(known, from) && reached < (this.seen.get(model.name) ?? 0);
      if (!stays) this.reading.set(model.name, known.current);
    }
    this.lookedAt = lookedAt;
  }

  private async defineVersion(model: VersionedModel, number: number): Promise<void> {
    const name = nameInVersion(model.name, number);
    if (number === 1 || this.defined.has(name)) return;
    await this.stored.define(collectionsInVersion(model, number));
    this.defined.add(name);
  }

  private async withVersions(current: readonly string[]): Promise<string[]> {
    const all = await this.stored.versions();
    const rebuilt = [...new Set(this.models.values())].flatMap((model) =>
      (all.get(model.name) ?? FIRST_ONLY).versions
        .filter(({ state }) => state !== 'dropping')
        .flatMap(({ number }) => collectionsInVersion(model, number)),
    );
    return [...current, ...rebuilt.map(({ name }) => name)];
  }
}

const isLive = ({ versions }: StoredVersions, number: number): boolean =>
  versions.some((one) => one.number === number && one.state === 'ready');

/** Returns the collections of a read model under the names of a version. */
export const collectionsInVersion = ({ collections }: VersionedModel, number: number): CollectionDefinition[] =>
  Object.values(collections).map((collection) => ({ ...collection, name: nameInVersion(collection.name, number) }));
