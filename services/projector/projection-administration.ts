import type { WithKeyVault, WorkerFoundation } from '../../shared/host/foundation.ts';
import { personalDataOf } from '../../shared/key-vault/personal-data.ts';
import { readModels } from '../../shared/read-models/catalogue.ts';
import { ScratchStore } from '../../shared/read-store/embedded/scratch-store.sqlite.ts';
import type { ReadModel } from '../../shared/read-models/read-model.ts';
import { storeVerification } from './run-projection/verification/stored-verifications.ts';
import {
  verifyModel,
  type VerificationOptions,
  type VerifiedModel,
} from './run-projection/verification/verify-model.ts';
import { storedUnder } from '../../shared/read-store/versions/versioned-read-store.ts';
import { versionsOf } from './run-projection/versions/change-versions.ts';
import { rebuild, type Rebuilt, type RebuildOptions } from './run-projection/versions/rebuild.ts';
import { dropVersion, switchVersion } from './run-projection/versions/switch-version.ts';
import { modelInVersion, versionName } from './run-projection/versions/version-names.ts';

export { listVersions, type ListedVersion } from './run-projection/versions/list-versions.ts';
export { statusOfVersions, type VersionStatus } from './run-projection/versions/version-status.ts';
export type { Rebuilt, VerifiedModel };

type Stores = Pick<WorkerFoundation & WithKeyVault, 'eventStore' | 'readStore' | 'keyVault' | 'masterKey' | 'clock'>;

/** The names of the read models without versions, such as `users`. */
export const modelNames = readModels.map((model) => versionName(model.name).name);

/** Returns the read models of these names; all for none. */
export const modelsNamed = (names: readonly string[]): ReadModel[] =>
  readModels.filter((model) => names.length === 0 || names.includes(versionName(model.name).name));

/**
 * Compares the version of a read model that queries read with a fresh fold of all events, and stores what it found.
 * @throws CannotStart if nothing keeps it up to date
 */
export const verifyStored = async (
  model: ReadModel,
  stores: Stores,
  options: Pick<VerificationOptions, 'repair' | 'signal' | 'report'>,
): Promise<VerifiedModel> => {
  const foldOptions = foldOptionsOf(stores);
  const { current } = await versionsOf(model, foldOptions.readStore);
  const version = await modelInVersion(model, current, foldOptions.readStore);
  const verified = await verifyModel(version, { ...foldOptions, ...options });
  await storeVerification(verified, { readStore: foldOptions.readStore, clock: stores.clock });
  return verified;
};

/** See `rebuild`. */
export const rebuildStored = (
  model: ReadModel,
  stores: Stores,
  options: Pick<RebuildOptions, 'rate' | 'signal' | 'report'>,
): Promise<Rebuilt> => rebuild(model, { ...foldOptionsOf(stores), ...options });

/** See `switchVersion`. */
export const switchStored = (
  model: ReadModel,
  to: string | undefined,
  { eventStore, readStore }: Pick<Stores, 'eventStore' | 'readStore'>,
  signal: AbortSignal,
): ReturnType<typeof switchVersion> =>
  switchVersion(model, to, { eventStore, readStore: storedUnder(readStore), signal });

/** See `dropVersion`. */
export const dropStored = (
  model: ReadModel,
  version: string,
  { readStore }: Pick<Stores, 'readStore'>,
  signal: AbortSignal,
): Promise<void> => dropVersion(model, version, { readStore: storedUnder(readStore), signal });

const foldOptionsOf = ({ eventStore, readStore, ...keys }: Stores) => ({
  eventStore,
  readStore: storedUnder(readStore),
  personalData: personalDataOf({ ...keys, eventStore }),
  makeScratch: (collections: readonly string[]) => new ScratchStore(collections),
});
