import { Command } from 'commander';
import { loadMasterKey } from '../../../shared/keys/master-key.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { endSessionsOf } from '../../account/session-administration.ts';
import { withEngines } from './with-engines.ts';

export const sessionsCommand = (): Command =>
  new Command('sessions')
    .description('the sessions of users')
    .addCommand(
      new Command('end')
        .description('ends every session of a user, at every process within 2 s; the user may log in again')
        .argument('<userId>', 'whose')
        .option('--json', 'for machines')
        .addHelpText('after', '\nExample:\n  annals sessions end usr_0123456789abcdefghjkmnpqrs')
        .action(end),
    );

const end = (userId: string, { json }: { json?: boolean }): Promise<void> =>
  withEngines({ names: ['eventStore', 'keyVault'], keepsFiles: true, changes: true }, async (engines, settings) => {
    const masterKey = loadMasterKey(settings);
    await endSessionsOf(userId, { ...engines, masterKey, clock: systemClock, ids: systemIds });
    process.stdout.write(json ? `${JSON.stringify({ userId })}\n` : `every session of ${userId} has ended\n`);
  });
