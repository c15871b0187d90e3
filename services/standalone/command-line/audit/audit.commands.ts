import { createReadStream, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { publicKeys, type PublicKeys } from '../../../../schemas/http/account-routes.ts';
import { AuditKey } from '../../../../shared/audit/audit-key.jose.ts';
import { exportHistory } from '../../../../shared/audit/export-history.ts';
import { ExportNotProven } from '../../../../shared/audit/export-not-proven.ts';
import { HistoryThread } from '../../../../shared/audit/history-thread.ts';
import { verifyExport, type VerifiedExport } from '../../../../shared/audit/verify-export.jose.ts';
import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { loadMasterKey } from '../../../../shared/keys/master-key.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { QueryBudget } from '../../../../shared/read-store/query-budget.ts';
import { isReaderGone } from '../run-command-line.ts';
import { withEngines } from '../with-engines.ts';

export const auditCommand = (): Command =>
  new Command('audit')
    .description('histories of accounts: export them, and verify exports')
    .addCommand(
      new Command('export')
        .description('prints the history of a user as NDJSON, also of one who was erased')
        .argument('<userId>')
        .addHelpText('after', '\nExample:\n  annals audit export usr_0123456789abcdefghjkmnpqrs > history.ndjson')
        .action(exportUser),
    )
    .addCommand(
      new Command('verify')
        .description(
          'verifies an export without the server: every line, the chain of hashes, and the signature over it',
        )
        .argument('<file>', 'an export; - reads it from standard input')
        .option('--jwks <file>', 'the keys of the account service, as /.well-known/jwks.json answers them')
        .option('--json', 'for machines')
        .addHelpText(
          'after',
          '\nWithout --jwks the lines are verified, which proves nothing: that they fit each other, anybody can make up.\n\nExample:\n  curl -s $ACCOUNT_URL/.well-known/jwks.json > jwks.json\n  annals audit verify history.ndjson --jwks jwks.json',
        )
        .action(verify),
    );

const exportUser = (userId: string): Promise<void> =>
  withEngines({ names: ['eventStore', 'readStore', 'keyVault'], keepsFiles: true }, async (engines, settings) => {
    const personalData = personalDataOf({ ...engines, masterKey: loadMasterKey(settings), clock: systemClock });
    const auditKey = await AuditKey.open(personalData.keys);
    const thread = new HistoryThread();
    const budget = new QueryBudget({ caller: userId });
    try {
      const options = { ...engines, personalData, auditKey, thread, budget, clock: systemClock };
      const lines = Readable.from(await exportHistory(userId, options), { objectMode: false });
      await pipeline(lines, process.stdout, { end: false });
    } catch (error) {
      if (!isReaderGone(error)) throw error;
    } finally {
      await thread.close();
    }
  });

const NOT_VERIFIED = 'the signature was not verified: give --jwks';

const verify = async (file: string, { jwks, json }: { jwks?: string; json?: boolean }): Promise<void> => {
  const keys = jwks === undefined ? undefined : readKeys(jwks);
  try {
    const verified = await verifyExport(file === '-' ? process.stdin : createReadStream(file), keys);
    // Anybody can make up an export that is whole and in order.
    const proof = verified.signedBy === null ? { proven: false, reason: NOT_VERIFIED } : { proven: true };
    process.stdout.write(`${json ? JSON.stringify({ ...proof, ...verified }) : textOf(verified)}\n`);
    if (!proof.proven) process.exitCode = 1;
  } catch (error) {
    if (!(error instanceof ExportNotProven)) throw error;
    const { message } = error;
    process.stdout.write(json ? `${JSON.stringify({ proven: false, reason: message })}\n` : `${file}: ${message}\n`);
    process.exitCode = 1;
  }
};

const readKeys = (file: string): PublicKeys => {
  try {
    return publicKeys.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new CannotStart(`${file} has no keys as /.well-known/jwks.json answers them`, { cause });
  }
};

const textOf = ({ sub, items, erased, position, time, signedBy }: VerifiedExport): string => {
  const whose = sub === null ? 'a history of' : `the history of ${sub}:`;
  const counted = `${whose} ${String(items)} items, whole and in order`;
  const unreadable = erased === 0 ? '' : ', without their data, because the user was erased';
  const upTo =
    sub === null
      ? 'an export of the former form: its signature says neither whose history it is, nor how many items it has, nor until when'
      : `all up to position ${String(position)} of the event store, exported at ${String(time)}`;
  const told = `${counted}${unreadable}; ${upTo}`;
  return signedBy === null ? `not proven: ${NOT_VERIFIED}; ${told}` : `${told}; signed by the audit key ${signedBy}`;
};
