import { createReadStream, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { publicKeys, type PublicKeys } from '../../../../schemas/http/account/account-routes.ts';
import { ExportNotProven } from '../../../../shared/audit/export-lines.ts';
import { verifyExport, type Anchors } from '../../../../shared/audit/verify-export.jose.ts';
import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import { WrongTiles } from '../../../../shared/transparency-log/is-continued.ts';
import { LogAway, RemoteLog } from '../../../../shared/transparency-log/remote-log.ts';
import { COSIGNATURE, ED25519 } from '../../../../shared/transparency-log/signed-note.ts';
import type { TileReader } from '../../../../shared/transparency-log/tiles.ts';
import { WrongArguments } from '../wrong-arguments.ts';
import { NOT_SIGNED, verifiedText } from './verified-text.ts';
import { collect, readKeptCheckpoint, readVkey, requireLogUrl, tilesOf } from './kept-log.ts';

interface Options {
  jwks?: string;
  logKey?: string;
  checkpoint: string[];
  tiles?: string;
  log?: string;
  witness: string[];
  json?: boolean;
}

export const verifyCommand = (): Command =>
  new Command('verify')
    .description('verifies an export, and says what is proven, by whom, and what is not')
    .argument('<file>', 'an export; - reads it from standard input')
    .option('--jwks <file>', 'the keys of the account service, as /.well-known/jwks.json answers them')
    .option('--log-key <vkey>', "the log's key, as /log/key answers it: <name>+<id>+<base64>")
    .option(
      '--checkpoint <file>',
      'a checkpoint of the log that somebody kept; can be given several times',
      collect,
      [],
    )
    .option('--tiles <folder>', 'tiles of the log that somebody kept, to compare checkpoints of other sizes')
    .option('--log <url>', 'where the log is served, instead of --tiles; ends in /log')
    .option(
      '--witness <vkey>',
      "the key of a witness that has cosigned the export's checkpoint, or one of --checkpoint; can be given several times",
      collect,
      [],
    )
    .option('--json', 'for machines')
    .addHelpText(
      'after',
      `
Ends with exit code 0 if the signature of the last line is right and nothing else contradicts it, also with sentences that begin with
"Not proven": read these. Ends with exit code 1 without --jwks, because anybody can cut an export, or make up lines that fit each
other. Says all the same what the log proves with --log-key, --checkpoint and --witness.

Examples:
  curl -s $ACCOUNT_URL/.well-known/jwks.json > jwks.json
  annals audit verify history.ndjson --jwks jwks.json --log-key "$(curl -s $ACCOUNT_URL/log/key)"
  annals audit verify history.ndjson --jwks jwks.json --checkpoint log.state --log https://account.example/log
  annals audit verify history.ndjson --jwks jwks.json --checkpoint log.state --witness "$WITNESS" --tiles log-of-today`,
    )
    .action(verify);

const verify = async (file: string, { json, ...options }: Options): Promise<void> => {
  const anchors = readAnchors(options);
  try {
    const verified = await verifyExport(file === '-' ? process.stdin : createReadStream(file), anchors);
    // Without the signature anybody can cut an export, or make up an empty one.
    const isProven = verified.signedBy !== null;
    const proof = isProven ? { proven: true } : { proven: false, reason: NOT_SIGNED };
    process.stdout.write(`${json ? JSON.stringify({ ...proof, ...verified }) : verifiedText(verified)}\n`);
    if (!isProven) process.exitCode = 1;
  } catch (error) {
    if (!(error instanceof ExportNotProven || error instanceof LogAway || error instanceof WrongTiles)) throw error;
    const { message } = error;
    process.stdout.write(json ? `${JSON.stringify({ proven: false, reason: message })}\n` : `${file}: ${message}\n`);
    process.exitCode = 1;
  }
};

/** @throws CannotStart, WrongArguments */
const readAnchors = ({ jwks, logKey: vkey, checkpoint, tiles, log, witness }: Omit<Options, 'json'>): Anchors => {
  if (tiles !== undefined && log !== undefined) throw new WrongArguments('give --tiles or --log, not both');
  if ((tiles ?? log) !== undefined && checkpoint.length === 0)
    throw new WrongArguments('--tiles and --log are to compare checkpoints: give --checkpoint too');
  if (log !== undefined) requireLogUrl(log);
  const logKey = vkey === undefined ? undefined : readVkey(vkey, ED25519, 'a log');
  return {
    jwks: jwks === undefined ? undefined : readKeys(jwks),
    logKey,
    kept: checkpoint.map((file) => readKeptCheckpoint(file, logKey)),
    tiles: tilesFrom({ tiles, log }),
    witnesses: witness.map((one) => readVkey(one, COSIGNATURE, 'a witness')),
  };
};

const tilesFrom = ({ tiles, log }: Record<'tiles' | 'log', string | undefined>): TileReader | undefined => {
  if (log !== undefined) return new RemoteLog(log).tiles;
  if (tiles === undefined) return undefined;
  const read = tilesOf(tiles);
  return (ids) => Promise.all(ids.map(read));
};

const readKeys = (file: string): PublicKeys => {
  try {
    return publicKeys.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new CannotStart(`${file} has no keys as /.well-known/jwks.json answers them`, { cause });
  }
};
