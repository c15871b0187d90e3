import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { loadSettings } from '../../config/load-settings.ts';
import { usersModel } from '../../read-models/account/users.ts';
import { SqliteReadStore } from '../../read-store/embedded/read-store.sqlite.ts';
import { FIRST_ONLY } from '../../read-store/versions/stored-versions.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { closeEngines, openEngines } from './engines.ts';

const start = async (DATA_DIR: string): Promise<void> => {
  const { settings } = loadSettings({ DATA_DIR });
  await closeEngines(await openEngines(settings, pino({ level: 'silent' }), ['readStore']));
};
const fill = async (DATA_DIR: string, work: (store: SqliteReadStore) => Promise<unknown>): Promise<void> => {
  const store = new SqliteReadStore(join(DATA_DIR, 'read.db'));
  await work(store);
  await store.close();
};

describe('a read store', () => {
  const [filledBefore, filledOtherwise, rebuilt] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];

  it('is opened again, also one that was filled before digests were kept', async () => {
    await fill(filledBefore, (store) => store.apply(usersModel.name, [], 3));
    await start(filledBefore);
    await start(filledBefore);
  });

  it('is refused when a read model in it was filled by another fold, and it says what to do', async () => {
    await fill(filledOtherwise, (store) => store.keepDigest(usersModel.name, 'another'));
    const refused = expect(start(filledOtherwise)).rejects;
    await refused.toThrow(
      new RegExp(
        `^the read model ${usersModel.name} was filled by .*new name.*remove read\\.db\\* in ${resolve(filledOtherwise)}`,
      ),
    );
  });

  it('is refused when a version that was rebuilt was filled by another fold', async () => {
    await start(rebuilt);
    const second = { number: 2, state: 'ready', rate: null } as const;
    const versions = { current: 1, next: 3, versions: [...FIRST_ONLY.versions, second] };
    await fill(rebuilt, async (store) => {
      await store.replaceVersions(usersModel.name, undefined, versions);
      await store.keepDigest(`${usersModel.name}.2`, 'another');
    });
    await expect(start(rebuilt)).rejects.toThrow(`the read model ${usersModel.name}.2 was filled by`);
  });
});
