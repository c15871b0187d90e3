import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { loadSettings } from '../../../../shared/config/load-settings.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { isEmbedded } from '../../../../shared/host/engines/engines.ts';
import { thisVault } from '../../../../shared/host/engines/this-vault.ts';
import { compareVaults } from '../../../../shared/key-vault/own-vault.ts';
import { KEY_BYTES } from '../../../../shared/keys/derive-key.ts';
import { MASTER_KEY_FILE, nameMasterKey } from '../../../../shared/keys/master-key.ts';
import { createFileWhole } from '../../../../shared/primitives/files/write-file-whole.ts';
import { createBackup, type ShowsProgress } from '../../backup/create-backup.ts';
import { restoreBackup } from '../../backup/restore-backup.ts';
import { verifyBackups } from '../../backup/verify-backups.ts';
import { command, print, type Json } from '../command.ts';
import { showProgress } from '../show-progress.ts';
import { withEngines } from '../with-engines.ts';

const json = ['--json', 'for machines'] as const;

export const backupCommand = (): Command =>
  command('backup', 'copies of the embedded event store and key vault: all the rest is made of these two')
    .addCommand(
      command(
        'create',
        'writes a new backup beside the older ones in a folder; services may run meanwhile',
        'backup create /backups/annals',
      )
        .argument('<folder>', 'where to, for all backups')
        .option(...json)
        .addHelpText(
          'after',
          '\nThe master key is not in the backup: keep a copy of it in another place. Removes keys that were destroyed since, such as\nthose of erased users, from the older backups.',
        )
        .action(create),
    )
    .addCommand(
      command(
        'verify',
        'names every file of backups that is not as it was written; exit code 1 then',
        'backup verify /backups/annals',
      )
        .argument('<folder>', 'of all backups, or of one')
        .option(...json)
        .action(verify),
    )
    .addCommand(
      command(
        'restore',
        'restores the newest backup into DATA_DIR, which must be empty; read models and topics are made again by the next start',
        'backup restore /backups/annals',
        'backup restore /backups/annals --to 120000 --master-key-file master.key',
      )
        .argument('<folder>', 'of all backups, or of one')
        .option('--to <position>', 'takes the oldest backup that reaches this position of the event store', position)
        .option('--master-key-file <file>', 'the master key in base64, if MASTER_KEY is not set')
        .option(...json)
        .action(restore),
    );

const position = (text: string): Position => {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is a position of the event store, such as 120000.');
};

const create = (folder: string, options: Json): Promise<void> => {
  requireEmbedded(loadSettings(process.env, {}).settings);
  return withEngines(
    { names: ['eventStore', 'keyVault'], keepsFiles: true, vault: 'itself' },
    async ({ eventStore, keyVault, clock }, settings) => {
      const { present } = await compareVaults(thisVault({ eventStore, keyVault }, settings));
      if (present?.isRewrapping) throw new CannotStart('"annals vault rewrap" was not finished: run it again first');
      const eventsFile = join(settings.DATA_DIR, 'events.db');
      const source = { eventsFile, eventStore, keyVault, clock };
      const { folder: made, at, position: upTo } = await createBackup(source, resolve(folder), showingProgress());
      const masterKey = nameMasterKey(settings);
      const text = `${made} has all events up to position ${String(upTo)} and all keys. Restoring it takes the master key, which is not in it: keep a copy of ${masterKey} in another place`;
      print(options, { folder: made, at, position: upTo, masterKey }, text);
    },
  );
};

const verify = async (folder: string, options: Json): Promise<void> => {
  const backups = await verifyBackups(resolve(folder), showingProgress());
  const damage = backups.flatMap((backup) => backup.damage);
  const lines = backups.map((backup) =>
    backup.damage.length > 0 ? backup.damage.join('\n') : `${backup.folder} is whole`,
  );
  print(options, { backups }, lines.join('\n'));
  if (damage.length > 0) throw new CannotStart(`the backups have damaged files: ${String(damage.length)}`);
};

const restore = async (
  folder: string,
  { to, masterKeyFile, ...options }: Json & { to?: Position; masterKeyFile?: string },
): Promise<void> => {
  const given = masterKeyFile === undefined ? undefined : keyIn(masterKeyFile);
  const { settings } = loadSettings(given === undefined ? process.env : { ...process.env, MASTER_KEY: given }, {});
  requireEmbedded(settings);
  const dataDir = resolve(settings.DATA_DIR);
  const keyFile = join(dataDir, MASTER_KEY_FILE);
  const { MASTER_KEY = existsSync(keyFile) ? keyIn(keyFile) : undefined } = settings;
  if (MASTER_KEY === undefined) {
    throw new CannotStart(
      'set MASTER_KEY, or name a file that has the master key with --master-key-file: no other opens the keys',
    );
  }
  const masterKeyName = masterKeyFile ?? nameMasterKey(settings);
  const masterKey = Buffer.from(MASTER_KEY, 'base64');
  const progress = showingProgress();
  const restored = await restoreBackup(resolve(folder), { dataDir, masterKey, masterKeyName, reaches: to, progress });
  // In production, and where the setting is used, the operator keeps the key.
  const isKept = given !== undefined && process.env['MASTER_KEY'] === undefined && settings.NODE_ENV !== 'production';
  if (isKept) createFileWhole(keyFile, given, 0o600);
  const place = isKept ? keyFile : given === undefined ? nameMasterKey(settings) : 'MASTER_KEY';
  const { folder: from, at, position: upTo, keys } = restored;
  const text = `${dataDir} has all events up to position ${String(upTo)} and ${String(keys)} keys, of ${at}. The master key must be in ${place}. The next start makes read models and topics again`;
  print(options, { folder: from, dataDir, at, position: upTo, keys, masterKey: place }, text);
};

/** @throws CannotStart */
const keyIn = (file: string): string => {
  const text = readFileSync(file, 'utf8').trim();
  if (Buffer.from(text, 'base64').length === KEY_BYTES) return text;
  throw new CannotStart(`${file} has no master key: 32 bytes in base64`);
};

/** @throws CannotStart */
const requireEmbedded = (settings: Settings): void => {
  if (isEmbedded('eventStore', settings) && isEmbedded('keyVault', settings)) return;
  throw new CannotStart(
    '"annals backup" is for the embedded event store and key vault: with EVENTSTORE_URL or MONGO_URL, use the tools of these servers, and "annals vault backup" for the key vault',
  );
};

/** Shows one kind of work after the other. */
const showingProgress = (): ShowsProgress => {
  let shown = '';
  let show = showProgress(shown);
  return (what, done, of) => {
    if (what !== shown) show = showProgress(what, of);
    shown = what;
    show(done);
  };
};
