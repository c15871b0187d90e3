import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { publicKeys } from '../../../schemas/http/account-routes.ts';
import { AuditKey } from '../../../shared/audit/audit-key.jose.ts';
import { exportHistory } from '../../../shared/audit/export-history.ts';
import { ExportNotProven, verifyExport } from '../../../shared/audit/verify-export.jose.ts';
import { personalDataOf } from '../../../shared/key-vault/personal-data.ts';
import { loadMasterKey } from '../../../shared/keys/master-key.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { linesOfFile } from '../../../shared/primitives/lines-of-file.ts';
import { withEngines } from './with-engines.ts';

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
        .description('verifies an export without the server: digests, the chain of hashes, and the signature over it')
        .argument('<file>', 'an export')
        .option('--jwks <file>', 'the keys of the account service, as /.well-known/jwks.json answers them')
        .option('--json', 'for machines')
        .addHelpText(
          'after',
          '\nExample:\n  curl -s $ACCOUNT_URL/.well-known/jwks.json > jwks.json\n  annals audit verify history.ndjson --jwks jwks.json',
        )
        .action(verify),
    );

const exportUser = (userId: string): Promise<void> =>
  withEngines({ names: ['eventStore', 'readStore', 'keyVault'], keepsFiles: true }, async (engines, settings) => {
    const { readStore } = engines;
    const personalData = personalDataOf({ ...engines, masterKey: loadMasterKey(settings), clock: systemClock });
    const auditKey = await AuditKey.open(personalData.keys);
    const lines = Readable.from(exportHistory(userId, { readStore, personalData, auditKey }));
    await pipeline(lines, process.stdout, { end: false });
  });

const verify = async (file: string, { jwks, json }: { jwks?: string; json?: boolean }): Promise<void> => {
  const keys = jwks === undefined ? undefined : publicKeys.parse(JSON.parse(readFileSync(jwks, 'utf8')));
  try {
    const verified = await verifyExport(linesOfFile(file), keys);
    const { items, erased, signedBy } = verified;
    const signature =
      signedBy === null ? 'the signature was not verified: give --jwks' : `signed by the audit key ${signedBy}`;
    const what = `${String(items)} items are whole and in order, ${String(erased)} of them erased; ${signature}`;
    process.stdout.write(json ? `${JSON.stringify({ proven: true, ...verified })}\n` : `${what}\n`);
  } catch (error) {
    if (!(error instanceof ExportNotProven)) throw error;
    const { message } = error;
    process.stdout.write(json ? `${JSON.stringify({ proven: false, reason: message })}\n` : `${file}: ${message}\n`);
    process.exitCode = 1;
  }
};
