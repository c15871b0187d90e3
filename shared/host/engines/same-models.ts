import { resolve } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import digests from '../../documents/read-model-digests.json' with { type: 'json' };
import { CannotStart } from '../../errors/cannot-start.ts';
import type { ReadStore } from '../../read-store/read-store.ts';
import { FIRST_ONLY, nameInVersion } from '../../read-store/versions/stored-versions.ts';

/**
 * Checks that the documents and the fold under the name of each read model are those of this version. Otherwise
 * documents of an earlier version would be misread. Accepts read models filled before digests were recorded.
 * @throws CannotStart
 */
export const requireSameModels = async (
  readStore: Pick<ReadStore, 'keepDigest' | 'versions'>,
  { MONGO_URL, MONGO_DATABASE, DATA_DIR }: Settings,
): Promise<void> => {
  const versions = await readStore.versions();
  const stored = Object.entries(digests).flatMap(([model, digest]) =>
    (versions.get(model) ?? FIRST_ONLY).versions.map(({ number }) => ({ name: nameInVersion(model, number), digest })),
  );
  for (const { name, digest } of stored) {
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
