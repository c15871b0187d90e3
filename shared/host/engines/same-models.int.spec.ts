import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { loadSettings } from '../config/load-settings.ts';
import { usersModel } from '../read-models/users.ts';
import { SqliteReadStore } from '../read-store/read-store.sqlite.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
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
  const [filledBefore, filledOtherwise] = [temporaryFolder(), temporaryFolder()];

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
});
