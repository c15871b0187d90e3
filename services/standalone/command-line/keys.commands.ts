import type { Command } from 'commander';
import { loadMasterKey } from '../../../shared/keys/master-key.ts';
import {
  removeSigningKey,
  rotateSigningKeys,
  signingKeyStore,
  type SigningKeyStore,
} from '../../account/key-administration.ts';
import { command, print, type Json } from './command.ts';
import { withEngines } from './with-engines.ts';

export const keysCommand = (): Command =>
  command('keys', 'the keys that sign tokens')
    .addCommand(
      command(
        'rotate',
        'adds a key that signs tokens: published at once, it signs two minutes later; nobody is signed out',
        'keys rotate',
      )
        .option('--json', 'for machines')
        .action(rotate),
    )
    .addCommand(
      command(
        'remove',
        'destroys a key that leaked: who holds a token that it signed must log in again',
        'keys remove 8d1f0c6a2b7e4f35a9c0d1e2f3a4b5c6',
      )
        .argument('<kid>', 'the key, as "annals keys rotate" names it; not the one that signs now')
        .option('--json', 'for machines')
        .action(remove),
    );

const rotate = (options: Json): Promise<void> =>
  withKeys('made', async (store) => {
    const rotated = await rotateSigningKeys(store);
    const { kid, signsFrom, others } = rotated;
    const lines = [
      `${kid}  signs from ${signsFrom}`,
      ...others.map((other) => `${other.kid}  is published until ${other.publishedUntil}`),
    ];
    print(options, rotated, lines.join('\n'));
  });

const remove = (kid: string, options: Json): Promise<void> =>
  withKeys('used', async (store) => {
    await removeSigningKey(store, kid);
    print(options, { kid }, `${kid} is destroyed: what it signed is void`);
  });

const withKeys = (vault: 'made' | 'used', work: (store: SigningKeyStore) => Promise<void>): Promise<void> =>
  withEngines({ names: ['eventStore', 'keyVault'], keepsFiles: true, changes: true, vault }, (engines, settings) =>
    work(signingKeyStore({ ...engines, masterKey: loadMasterKey(settings) })),
  );
