import type { Position } from '../../../../shared/event-store/event-store.ts';
import type { WorkerFoundation } from '../../../../shared/host/foundation.ts';
import { collections, readModels } from '../../../../shared/read-models/catalogue.ts';
import type { ReadModel } from '../../../../shared/read-models/read-model.ts';
import type { CollectionSize, ReadStore } from '../../../../shared/read-store/read-store.ts';
import {
  FIRST_ONLY,
  nameInVersion,
  type StoredVersion,
  type StoredVersions,
} from '../../../../shared/read-store/versions/stored-versions.ts';
import { collectionsInVersion } from '../../../../shared/read-store/versions/versioned-read-store.ts';
import { versionName, type VersionName } from './version-names.ts';

/** A stored version of a read model. */
export interface ListedVersion extends VersionName {
  /** Whether queries read this version. */
  current: boolean;
  /** `former`: an earlier release left it. */
  state: StoredVersion['state'] | 'former';
  position: Position;
  /** How far the position is behind the event store. */
  lag: number;
  documents: number;
  bytes: number;
}

interface VersionInStore extends VersionName {
  current: boolean;
  state: ListedVersion['state'];
  checkpoint: string;
  collections: string[];
}

/** Returns every stored version: those that this release reads, and what earlier releases left. */
export const listVersions = async ({
  eventStore,
  readStore,
}: Pick<WorkerFoundation, 'eventStore' | 'readStore'>): Promise<ListedVersion[]> => {
  const known = await readStore.versions();
  const versions = [
    ...readModels.flatMap((model) => versionsIn(model, known.get(model.name) ?? FIRST_ONLY)),
    ...(await formerVersions(readStore)),
  ];
  const sizes = await readStore.sizes(versions.flatMap((version) => version.collections));
  const [checkpoints, head] = [await readStore.checkpoints(), await eventStore.head()];
  return versions.map(({ name, version, current, state, checkpoint, collections: stored }) => {
    const position = checkpoints.get(checkpoint)?.position ?? 0;
    const sum = (member: keyof CollectionSize) =>
      stored.reduce((total, collection) => total + (sizes.get(collection)?.[member] ?? 0), 0);
    const lag = Math.max(0, head - position);
    return { name, version, current, state, position, lag, documents: sum('documents'), bytes: sum('bytes') };
  });
};

const versionsIn = (model: ReadModel, { current, versions }: StoredVersions): VersionInStore[] =>
  versions.map(({ number, state }) => ({
    ...versionName(nameInVersion(model.name, number)),
    ...{ current: number === current, state: number === current ? 'ready' : state },
    checkpoint: nameInVersion(model.name, number),
    collections: collectionsInVersion(model, number).map(({ name }) => name),
  }));

/** Returns a version that an earlier release left; `undefined` if there is none of this name. */
export const formerVersion = async (
  model: ReadModel,
  version: string,
  readStore: Pick<ReadStore, 'formerCollections' | 'versions'>,
): Promise<VersionInStore | undefined> => {
  const own = versionName(model.name).name;
  return (await formerVersions(readStore)).find((one) => one.name === own && one.version === version);
};

/** Collections of one read model and version belong together. A model is known by the names of its collections. */
const formerVersions = async (
  readStore: Pick<ReadStore, 'formerCollections' | 'versions'>,
): Promise<VersionInStore[]> => {
  const versions = await readStore.versions();
  const rebuilt = readModels.flatMap((model) => versionsIn(model, versions.get(model.name) ?? FIRST_ONLY));
  const known = [...collections.map(({ name }) => name), ...rebuilt.flatMap((version) => version.collections)];
  const former = await readStore.formerCollections(known);
  const byVersion = Map.groupBy(former, ({ name }) => `${modelOf(name)}-${versionName(name).version}`);
  return Array.from(byVersion, ([checkpoint, together]) => ({
    ...{ ...versionName(checkpoint), current: false, state: 'former' as const, checkpoint },
    collections: together.map(({ name }) => name),
  }));
};

const modelOf = (collection: string): string => {
  const { name } = versionName(collection);
  const isOf = (model: ReadModel) =>
    Object.values(model.collections).some((own) => versionName(own.name).name === name);
  const model = readModels.find(isOf);
  return model ? versionName(model.name).name : name;
};
