import type { Command } from 'commander';
import { loadMasterKey } from '../../../shared/keys/master-key.ts';
import { endSessionsOf } from '../../account/session-administration.ts';
import { command, print, type Json } from './command.ts';
import { withEngines } from './with-engines.ts';

export const sessionsCommand = (): Command =>
  command('sessions', 'the sessions of users').addCommand(
    command(
      'end',
      'ends every session of a user, at every process within 2 s; the user may log in again',
      'sessions end usr_0123456789abcdefghjkmnpqrs',
    )
      .argument('<userId>', 'whose')
      .option('--json', 'for machines')
      .action(end),
  );

const end = (userId: string, options: Json): Promise<void> =>
  withEngines({ names: ['eventStore', 'keyVault'], keepsFiles: true, changes: true }, async (engines, settings) => {
    await endSessionsOf(userId, { ...engines, masterKey: loadMasterKey(settings) });
    print(options, { userId }, `every session of ${userId} has ended`);
  });
