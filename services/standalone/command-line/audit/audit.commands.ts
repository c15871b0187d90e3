import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { AuditKey } from '../../../../shared/audit/audit-key.ts';
import { exportHistory } from '../../../../shared/audit/export-history.ts';
import { HistoryThread } from '../../../../shared/audit/history-thread.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { QueryBudget } from '../../../../shared/read-store/query-budget.ts';
import { isReaderGone } from '../run-command-line.ts';
import { withEngines } from '../with-engines.ts';
import { logCommand } from './log.commands.ts';
import { openExportedLog, openPersonalData } from './open-exported-log.ts';
import { verifyCommand } from './verify.command.ts';
import { showCommand } from './show.command.ts';
import { trailCommand } from './trail.command.ts';
import { witnessCommand } from './witness/witness.command.ts';

export const auditCommand = (): Command =>
  new Command('audit')
    .description(
      'what happened to accounts and through requests; exports and their verification; the log of all events',
    )
    .addCommand(logCommand())
    .addCommand(witnessCommand())
    .addCommand(showCommand())
    .addCommand(trailCommand())
    .addCommand(
      new Command('export')
        .description('prints the history of a user as NDJSON, also of one who was erased')
        .argument('<userId>')
        .addHelpText('after', '\nExample:\n  annals audit export usr_0123456789abcdefghjkmnpqrs > history.ndjson')
        .action(exportUser),
    )
    .addCommand(verifyCommand());

const exportUser = (userId: string): Promise<void> =>
  withEngines({ names: ['eventStore', 'readStore', 'keyVault'], keepsFiles: true }, async (engines, settings) => {
    const personalData = openPersonalData(engines, settings);
    const auditKey = await AuditKey.open(personalData.keys);
    const thread = new HistoryThread();
    const budget = new QueryBudget({ caller: userId });
    try {
      const log = openExportedLog({ ...engines, keys: personalData.keys }, settings);
      const options = { ...engines, personalData, auditKey, log, thread, budget, clock: systemClock };
      const lines = Readable.from(await exportHistory(userId, options), { objectMode: false });
      await pipeline(lines, process.stdout, { end: false });
    } catch (error) {
      if (!isReaderGone(error)) throw error;
    } finally {
      await thread.close();
    }
  });
