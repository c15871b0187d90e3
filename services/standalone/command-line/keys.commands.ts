import { Command } from 'commander';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { useDataFolder } from '../../../shared/host/engines.ts';
import { createLogger } from '../../../shared/host/logger.ts';
import { Shutdown } from '../../../shared/host/shutdown.ts';
import { loadMasterKey } from '../../../shared/keys/master-key.ts';
import { rotateSigningKeys, signingKeyStore } from '../../account/key-administration.ts';

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

const rotate = async ({ json }: { json?: boolean }): Promise<void> => {
  const { settings } = loadSettings(process.env, {});
  const shutdown = new Shutdown(createLogger(settings));
  try {
    useDataFolder({ settings, shutdown });
    const rotated = await rotateSigningKeys(signingKeyStore(settings, loadMasterKey(settings)));
    const { kid, signsFrom, others } = rotated;
    const lines = [
      `${kid}  signs from ${signsFrom}`,
      ...others.map((other) => `${other.kid}  is published until ${other.publishedUntil}`),
    ];
    process.stdout.write(json ? `${JSON.stringify(rotated)}\n` : `${lines.join('\n')}\n`);
  } finally {
    await shutdown.run();
  }
};
