import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { userEvents } from '../../../schemas/events/user-events.ts';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { readEvery } from '../../../shared/event-store/read-every.ts';
import type { Engines } from '../../../shared/host/engines.ts';
import { backupVault, restoreVault, rewrapVault, vaultStatus } from '../../../shared/key-vault/vault-copies.ts';
import { KEY_BYTES } from '../../../shared/keys/derive-key.ts';
import { loadMasterKey } from '../../../shared/keys/master-key.ts';
import { systemClock, toIso } from '../../../shared/primitives/clock.ts';
import { createFileWhole } from '../../../shared/primitives/write-file-whole.ts';
import { withEngines } from './with-engines.ts';

const json = ['--json', 'for machines'] as const;

export const vaultCommand = (): Command =>
  new Command('vault')
    .description(
      'the keys of personal data, identities, smart accounts and tokens: who loses them loses what they encrypt and own',
    )
    .addCommand(
      new Command('status')
        .description('how many keys there are, and whether MASTER_KEY opens them')
        .option(...json)
        .addHelpText('after', '\nExample:\n  annals vault status --json')
        .action(status),
    )
    .addCommand(
      new Command('backup')
        .description('writes every key, encrypted as it is stored, to a new file')
        .argument('<file>', 'where to; it must not exist')
        .option(...json)
        .addHelpText('after', '\nExample:\n  annals vault backup vault-2026-01-02.ndjson')
        .action(backup),
    )
    .addCommand(
      new Command('restore')
        .description('restores keys that are missing; none that was destroyed since')
        .argument('<file>', 'a backup')
        .option(...json)
        .addHelpText('after', '\nExample:\n  annals vault restore vault-2026-01-02.ndjson')
        .action(restore),
    )
    .addCommand(
      new Command('rewrap')
        .description('encrypts every key with the MASTER_KEY that is set now')
        .requiredOption('--from <file>', 'a file with the MASTER_KEY until now, in base64')
        .option(...json)
        .addHelpText(
          'after',
          '\nStop every process first; cursors and kept answers are void afterwards.\nExample:\n  MASTER_KEY=$(cat new.key) annals vault rewrap --from old.key',
        )
        .action(rewrap),
    );

interface Json {
  json?: boolean;
}

const status = (options: Json): Promise<void> =>
  withVault(['keyVault'], async ({ keyVault }, masterKey) => {
    const found = await vaultStatus(keyVault, masterKey);
    const { keys, destroyed, unreadable } = found;
    print(options, found, `${String(keys)} keys, ${String(destroyed)} of them destroyed`);
    if (unreadable > 0) throw new CannotStart(`MASTER_KEY does not open ${String(unreadable)} keys: set the right one`);
  });

const backup = (file: string, options: Json): Promise<void> =>
  withVault(['keyVault'], async ({ keyVault }) => {
    const whole = await text(backupVault(keyVault, toIso(systemClock.now())));
    createFileWhole(file, whole, 0o600);
    if (readFileSync(file, 'utf8') !== whole) throw new CannotStart(`${file} exists: name another file`);
    const keys = whole.split('\n').length - 2;
    print(options, { file, keys }, `${file} has ${String(keys)} keys; it needs MASTER_KEY to be of use`);
  });

const restore = (file: string, options: Json): Promise<void> =>
  withVault(['keyVault', 'eventStore'], async ({ keyVault, eventStore }, masterKey) => {
    const lines = createInterface({ input: createReadStream(file), crlfDelay: Infinity });
    const erasedUsers = await erasedUsersOf(eventStore);
    const restored = await restoreVault(keyVault, lines, { masterKey, erasedUsers, at: toIso(systemClock.now()) });
    const { added, kept, destroyed } = restored;
    const what = `${String(added)} keys restored, ${String(kept)} were there, ${String(destroyed)} stay destroyed`;
    print(options, restored, what);
  });

const rewrap = ({ from, ...options }: Json & { from: string }): Promise<void> =>
  withVault(['keyVault'], async ({ keyVault }, masterKey) => {
    const before = Buffer.from(readFileSync(from, 'utf8').trim(), 'base64');
    if (before.length !== KEY_BYTES) throw new CannotStart(`${from} has no master key: 32 bytes in base64`);
    const keys = await rewrapVault(keyVault, before, masterKey);
    print(options, { keys }, `${String(keys)} keys are encrypted with MASTER_KEY now`);
  });

const print = ({ json: asJson }: Json, result: object, sentence: string): void => {
  process.stdout.write(asJson ? `${JSON.stringify(result)}\n` : `${sentence}\n`);
};

const erasedUsersOf = async (eventStore: EventStore): Promise<string[]> => {
  const erased: string[] = [];
  for await (const { data } of readEvery(eventStore, { filter: { types: ['UserErased'] } })) {
    erased.push(userEvents.UserErased.data.parse(data).userId);
  }
  return erased;
};

const withVault = <Name extends 'keyVault' | 'eventStore'>(
  names: readonly Name[],
  work: (engines: Pick<Engines, Name>, masterKey: Buffer) => Promise<void>,
): Promise<void> =>
  withEngines({ names, keepsFiles: true }, (engines, settings) => work(engines, loadMasterKey(settings)));
