import { resolve } from 'node:path';
import type { Settings } from '../config/settings.ts';
import { readModelDigests } from '../documents/read-model-digests.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import type { ReadStore } from '../read-store/read-store.ts';

/**
 * Looks whether each read model is filled by the documents and the fold that this version has under its name; otherwise
 * documents of before would be read as what they are not. What was filled before digests were kept is taken as it is.
 * @throws CannotStart
 */
export const requireSameModels = async (
  readStore: Pick<ReadStore, 'keepDigest'>,
  { MONGO_URL, MONGO_DATABASE, DATA_DIR }: Settings,
): Promise<void> => {
  for (const [name, digest] of Object.entries(readModelDigests())) {
    if ((await readStore.keepDigest(name, digest)) === digest) continue;
    const remove =
      MONGO_URL === undefined
        ? `remove read.db* in ${resolve(DATA_DIR)}`
        : `drop its collections in the database ${MONGO_DATABASE} of MONGO_URL, with the line ${name} of _positions`;
    throw new CannotStart(
      `the read model ${name} was filled by a version that has other documents or another fold under this name: give it and ` +
        `its collections a new name where it is defined, or end every process and ${remove}: it is made anew at the next start`,
    );
  }
};
