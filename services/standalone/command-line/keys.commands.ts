import { Command } from 'commander';
import { loadMasterKey } from '../../../shared/keys/master-key.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import {
  removeSigningKey,
  rotateSigningKeys,
  signingKeyStore,
  type SigningKeyStore,
} from '../../account/key-administration.ts';
import { withEngines } from './with-engines.ts';

export const keysCommand = (): Command =>
  new Command('keys')
    .description('the keys that sign tokens')
    .addCommand(
      new Command('rotate')
        .description(
          'adds a key that signs tokens: published at once, it signs two minutes later; nobody is signed out',
        )
        .option('--json', 'for machines')
        .addHelpText('after', '\nExample:\n  annals keys rotate')
        .action(rotate),
    )
    .addCommand(
      new Command('remove')
        .description('destroys a key that leaked: who holds a token that it signed must log in again')
        .argument('<kid>', 'the key, as "annals keys rotate" names it; not the one that signs now')
        .option('--json', 'for machines')
        .addHelpText('after', '\nExample:\n  annals keys remove 8d1f0c6a2b7e4f35a9c0d1e2f3a4b5c6')
        .action(remove),
    );

const rotate = ({ json }: Json): Promise<void> =>
  withKeys('made', async (store) => {
    const rotated = await rotateSigningKeys(store);
    const { kid, signsFrom, others } = rotated;
    const lines = [
      `${kid}  signs from ${signsFrom}`,
      ...others.map((other) => `${other.kid}  is published until ${other.publishedUntil}`),
    ];
    process.stdout.write(json ? `${JSON.stringify(rotated)}\n` : `${lines.join('\n')}\n`);
  });

const remove = (kid: string, { json }: Json): Promise<void> =>
  withKeys('used', async (store) => {
    await removeSigningKey(store, kid);
    process.stdout.write(json ? `${JSON.stringify({ kid })}\n` : `${kid} is destroyed: what it signed is void\n`);
  });

interface Json {
  json?: boolean;
}

const withKeys = (vault: 'made' | 'used', work: (store: SigningKeyStore) => Promise<void>): Promise<void> =>
  withEngines({ names: ['eventStore', 'keyVault'], keepsFiles: true, changes: true, vault }, (engines, settings) =>
    work(signingKeyStore({ ...engines, masterKey: loadMasterKey(settings), clock: systemClock, ids: systemIds })),
  );
