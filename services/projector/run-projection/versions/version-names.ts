import type { ReadModel } from '../../../../shared/read-models/read-model.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { nameInVersion } from '../../../../shared/read-store/versions/stored-versions.ts';
import { collectionsInVersion } from '../../../../shared/read-store/versions/versioned-read-store.ts';

/**
 * A stored version of a read model, or of one of its collections, as operators name it: `users` and `v5`, or `v5.2`
 * after a rebuild.
 */
export interface VersionName {
  name: string;
  version: string;
}

/** Splits a stored name, such as `users-v5.2`. A name without a version is of version ''. */
export const versionName = (stored: string): VersionName => {
  const at = /-v\d+(\.\d+)?$/.exec(stored)?.index ?? stored.length;
  return { name: stored.slice(0, at), version: stored.slice(at + 1) };
};

/** Returns a read model as it is stored in a version, with its collections defined. */
export const modelInVersion = async (
  model: ReadModel,
  number: number,
  stored: Pick<ReadStore, 'define'>,
): Promise<ReadModel> => {
  if (number === 1) return model;
  await stored.define(collectionsInVersion(model, number));
  const collections = Object.entries(model.collections).map(
    ([role, collection]) => [role, { ...collection, name: nameInVersion(collection.name, number) }] as const,
  );
  return { ...model, name: nameInVersion(model.name, number), collections: Object.fromEntries(collections) };
};
