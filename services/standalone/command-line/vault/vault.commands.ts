import { existsSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Settings } from '../../../../shared/config/settings.ts';
import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import type { Engines } from '../../../../shared/host/engines/engines.ts';
import { thisVault } from '../../../../shared/host/engines/this-vault.ts';
import { compareVaults, type OwnVault } from '../../../../shared/key-vault/own-vault.ts';
import { restoreVault } from '../../../../shared/key-vault/backup/restore-vault.ts';
import { rewrapVault, vaultStatus } from '../../../../shared/key-vault/backup/rewrap-vault.ts';
import { backupVault } from '../../../../shared/key-vault/backup/vault-backup.ts';
import { KEY_BYTES } from '../../../../shared/keys/derive-key.ts';
import { linesOfFile } from '../../../../shared/primitives/files/lines-of-file.ts';
import { systemClock, toIso } from '../../../../shared/primitives/clock.ts';
import { createFileOf } from '../../../../shared/primitives/files/write-file-whole.ts';
import { command, print, type Json } from '../command.ts';
import { showProgress } from '../show-progress.ts';
import { withEngines, type VaultUse } from '../with-engines.ts';

const json = ['--json', 'for machines'] as const;

export const vaultCommand = (): Command =>
  command(
    'vault',
    'the keys of personal data, identities, smart accounts and tokens: who loses them loses what they encrypt and own',
  )
    .addCommand(
      command('status', 'how many keys there are, and whether MASTER_KEY opens them', 'vault status --json')
        .option(...json)
        .action(status),
    )
    .addCommand(
      command(
        'backup',
        'writes every key, encrypted as it is stored, to a new file; services may run meanwhile',
        'vault backup vault-2026-01-02.ndjson',
      )
        .argument('<file>', 'where to; it must not exist')
        .option(...json)
        .action(backup),
    )
    .addCommand(
      command(
        'restore',
        'restores keys that are missing; none that was destroyed since. It changes nothing where keys differ. It may be repeated',
      )
        .argument('<file>', 'a backup')
        .option('--replace', 'takes the keys of the backup where they differ; stop every process first')
        .option(...json)
        .addHelpText(
          'after',
          '\nExamples:\n  annals vault restore vault-2026-01-02.ndjson\n  docker compose run --rm account vault restore /data/vault-2026-01-02.ndjson',
        )
        .action(restore),
    )
    .addCommand(
      command(
        'rewrap',
        'encrypts every key with the MASTER_KEY that is set now; stop every process first. It may be repeated',
      )
        .requiredOption('--from <file>', 'a file with the MASTER_KEY until now, in base64')
        .option(...json)
        .addHelpText(
          'after',
          '\nCursors and kept answers are void afterwards.\nExample:\n  MASTER_KEY=$(cat new.key) annals vault rewrap --from old.key',
        )
        .action(rewrap),
    );

const status = (options: Json): Promise<void> =>
  withVault('itself', async (vault) => {
    const { present } = await compareVaults(vault);
    const found = await vaultStatus(vault.keyVault, vault.masterKey);
    const { keys, destroyed, unreadable, unreadableIds } = found;
    const { isRewrapping = false, vaultId = null } = present ?? {};
    print(options, { vaultId, isRewrapping, ...found }, `${String(keys)} keys, ${String(destroyed)} of them destroyed`);
    if (isRewrapping) throw new CannotStart('"annals vault rewrap" was not finished: run it again');
    if (unreadable === 0) return;
    const which = unreadable === keys - destroyed ? 'set the right one' : `among them ${unreadableIds.join(', ')}`;
    throw new CannotStart(`${vault.names.masterKey} does not open ${String(unreadable)} keys: ${which}`);
  });

const backup = (file: string, options: Json): Promise<void> =>
  withVault('itself', async (vault) => {
    if (existsSync(file)) throw exists(file);
    const { present } = await compareVaults(vault);
    await vault.keyVault.use('shared');
    if (present?.isRewrapping) throw new CannotStart('"annals vault rewrap" was not finished: run it again first');
    let keys = 0;
    const counted = countKeys(backupVault(vault.keyVault, toIso(systemClock.now())), (count) => {
      keys = count;
    });
    if (!(await createFileOf(file, counted, 0o600))) throw exists(file);
    print(options, { file, keys }, `${file} has ${String(keys)} keys; it needs MASTER_KEY to be of use`);
  });

const exists = (file: string): CannotStart => new CannotStart(`${file} exists: name another file`);

/** Counts the keys among the lines of a backup: all lines but the first and the last. */
async function* countKeys(lines: AsyncIterable<string>, counted: (keys: number) => void): AsyncGenerator<string> {
  const show = showProgress('keys');
  let count = 0;
  for await (const line of lines) {
    yield line;
    count += 1;
    counted(count - 2);
    show(count);
  }
}

const restore = (file: string, { replace = false, ...options }: Json & { replace?: boolean }): Promise<void> =>
  withVault(replace ? { aloneTo: '"vault restore --replace"' } : 'itself', async (vault) => {
    const restored = await restoreVault(vault, () => linesOfFile(file), {
      replaces: replace,
      at: toIso(systemClock.now()),
      progress: showProgress('keys'),
    });
    const { added, kept, replaced, destroyed } = restored;
    const others = `${String(kept)} were there, ${String(replaced)} replaced, ${String(destroyed)} stay destroyed`;
    print(options, restored, `${vault.names.vault}: ${String(added)} keys restored, ${others}`);
  });

const rewrap = ({ from, ...options }: Json & { from: string }): Promise<void> =>
  withVault({ aloneTo: '"vault rewrap"' }, async (vault) => {
    const before = Buffer.from(readFileSync(from, 'utf8').trim(), 'base64');
    if (before.length !== KEY_BYTES) throw new CannotStart(`${from} has no master key: 32 bytes in base64`);
    await compareVaults(vault);
    const progress = showProgress('keys');
    const keys = await rewrapVault(vault.keyVault, { from: before, to: vault.masterKey, progress });
    print(options, { keys }, `${String(keys)} keys of ${vault.names.vault} are encrypted with MASTER_KEY now`);
  });

const withVault = (vault: VaultUse, work: (own: OwnVault) => Promise<void>): Promise<void> =>
  withEngines(
    { names: ['eventStore', 'keyVault'], keepsFiles: true, vault },
    (engines: Pick<Engines, 'eventStore' | 'keyVault'>, settings: Settings) => work(thisVault(engines, settings)),
  );
