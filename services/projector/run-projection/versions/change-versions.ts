import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import type { ReadModel } from '../../../../shared/read-models/read-model.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import {
  FIRST_ONLY,
  nameInVersion,
  type StoredVersion,
  type StoredVersions,
} from '../../../../shared/read-store/versions/stored-versions.ts';
import { versionName } from './version-names.ts';

type Versions = Pick<ReadStore, 'versions' | 'replaceVersions'>;

/** Returns the versions of a read model. */
export const versionsOf = async (model: Pick<ReadModel, 'name'>, store: Versions): Promise<StoredVersions> =>
  (await store.versions()).get(model.name) ?? FIRST_ONLY;

/**
 * Decides on the versions of a read model, and stores the decision. Decides again if another command was sooner.
 * @returns what is stored now
 */
export const changeVersions = async (
  model: Pick<ReadModel, 'name'>,
  store: Versions,
  decide: (known: StoredVersions) => StoredVersions,
): Promise<StoredVersions> => {
  for (;;) {
    const stored = (await store.versions()).get(model.name);
    const next = decide(stored ?? FIRST_ONLY);
    if (next === stored || (await store.replaceVersions(model.name, stored, next))) return next;
    await pause(10);
  }
};

/** Returns versions of which one is changed. */
export const withVersion = (
  known: StoredVersions,
  number: number,
  changes: Partial<StoredVersion>,
): StoredVersions => ({
  ...known,
  versions: known.versions.map((one) => (one.number === number ? { ...one, ...changes } : one)),
});

/** Returns the version of this name, such as `v5.2`. @throws CannotStart that names those that are stored */
export const versionNamed = (model: Pick<ReadModel, 'name'>, known: StoredVersions, version: string): StoredVersion => {
  const found = known.versions.find(({ number }) => nameOf(model, number) === version);
  if (found) return found;
  const { name } = versionName(model.name);
  const stored = known.versions.map(({ number }) => nameOf(model, number)).join(', ');
  throw new CannotStart(`${name} has no version ${version} that this release can read: there are ${stored}`);
};

/** The name of a version, such as `v5.2`. */
export const nameOf = (model: Pick<ReadModel, 'name'>, number: number): string =>
  versionName(nameInVersion(model.name, number)).version;
