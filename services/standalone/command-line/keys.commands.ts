import { Command } from 'commander';
import { loadMasterKey } from '../../../shared/keys/master-key.ts';
import { rotateSigningKeys, signingKeyStore } from '../../account/key-administration.ts';
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
    );

const rotate = ({ json }: { json?: boolean }): Promise<void> =>
  withEngines({ names: [], keepsFiles: true }, async (_, settings) => {
    const rotated = await rotateSigningKeys(signingKeyStore(settings, loadMasterKey(settings)));
    const { kid, signsFrom, others } = rotated;
    const lines = [
      `${kid}  signs from ${signsFrom}`,
      ...others.map((other) => `${other.kid}  is published until ${other.publishedUntil}`),
    ];
    process.stdout.write(json ? `${JSON.stringify(rotated)}\n` : `${lines.join('\n')}\n`);
  });
