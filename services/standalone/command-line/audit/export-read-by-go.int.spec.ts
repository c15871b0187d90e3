import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import { SqliteEventStore } from '../../../../shared/event-store/embedded/event-store.sqlite.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { thisVault } from '../../../../shared/host/engines/this-vault.ts';
import { SqliteKeyVault } from '../../../../shared/key-vault/embedded/key-vault.sqlite.ts';
import { requireOwnVault } from '../../../../shared/key-vault/own-vault.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import { collections } from '../../../../shared/read-models/catalogue.ts';
import { SqliteReadStore } from '../../../../shared/read-store/embedded/read-store.sqlite.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { runGo, withGo } from '../../../../shared/testing/go/run-go.ts';
import { buildLog } from '../../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { openLogKey } from '../../../../shared/transparency-log/log-key.ts';
import { NoteSigner, vkeyOf } from '../../../../shared/transparency-log/signed-note.ts';
import { runAnnals } from '../../testing/run-annals.ts';
import { auditCommand } from './audit.commands.ts';

const folder = temporaryFolder();
/** More than two tiles. */
const EVENTS = 600;
/** These, the identity of the vault, and the key of the log. */
const LEAVES = EVENTS + 2;

/** Stores a log in a data folder, and returns its key. */
const storeLog = async (): Promise<string> => {
  const masterKey = Buffer.alloc(32, 7);
  writeFileSync(join(folder, 'master.key'), masterKey.toString('base64'));
  const eventStore = new SqliteEventStore(join(folder, 'events.db'));
  const keyVault = new SqliteKeyVault(join(folder, 'vault.db'));
  const readStore = new SqliteReadStore(join(folder, 'read.db'));
  await readStore.define(collections);
  await requireOwnVault(thisVault({ eventStore, keyVault }, { DATA_DIR: folder } as Settings), { makes: true });
  const { keys } = personalDataOf({ eventStore, keyVault, masterKey, clock: systemClock });
  const seed = await openLogKey(new Transactor(eventStore, systemClock, systemIds), keys);
  const event = () => anEvent({ type: 'AppRegistered', data: eventExamples.AppRegistered });
  await eventStore.append('app-1', -1, Array.from({ length: EVENTS }, event));
  await buildLog({ eventStore, readStore });
  await Promise.all([eventStore.close(), keyVault.close(), readStore.close()]);
  return vkeyOf(new NoteSigner('127.0.0.1:3000/log', seed).key);
};

describe('annals audit log export', () => {
  withGo('read-log')(
    "writes what Go's sumdb/tlog proves: each tile, and each entry as the one of its leaf",
    async () => {
      const logKey = await storeLog();
      const exported = join(folder, 'exported');
      expect(await runAnnals(folder, auditCommand(), 'log', 'export', exported)).toMatchObject({ code: undefined });
      expect(await runGo('read-log', exported, logKey)).toBe(
        `127.0.0.1:3000/log ${String(LEAVES)}\nentries ${String(LEAVES)}\n`,
      );
      const bundle = join(exported, 'tile/entries/001');
      const text = readFileSync(bundle, 'latin1');
      for (const [changed, reason] of [
        [text.replace('AppRegistered', 'AppRegisterex'), 'entry 256 is not the one of its leaf'],
        [text.slice(0, -1), 'the bundle of entry 511 was cut'],
        [`${text}\0\0`, 'the bundle before entry 512 has more than 256 entries'],
      ] as const) {
        writeFileSync(bundle, changed, 'latin1');
        await expect(runGo('read-log', exported, logKey)).rejects.toThrow(reason);
      }
    },
  );
});
