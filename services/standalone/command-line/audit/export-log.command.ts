import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { readEvery } from '../../../../shared/event-store/read-every.ts';
import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import { writeFileWhole } from '../../../../shared/primitives/files/write-file-whole.ts';
import { parseCheckpoint } from '../../../../shared/transparency-log/checkpoint.ts';
import { parseNote } from '../../../../shared/transparency-log/signed-note.ts';
import { OtherTree, writeTiles } from '../../../../shared/transparency-log/write-log.ts';
import { showProgress } from '../show-progress.ts';
import { unlessInterrupted } from '../watches/until-interrupted.ts';
import { withEngines } from '../with-engines.ts';
import { openExportedLog, openPersonalData } from './open-exported-log.ts';

const CHECKPOINT = 'checkpoint';

export const exportLogCommand = (): Command =>
  new Command('export')
    .description('writes the whole log into a folder, with what its leaves are the hashes of, for tools of others')
    .argument('<folder>', 'a new or empty folder, or one of an earlier export, which is continued')
    .option('--json', 'for machines')
    .addHelpText(
      'after',
      `
Writes checkpoint, tile/<level>/<index> and tile/entries/<index>, as C2SP tlog-tiles has them. Entries name people: who did what, and
when. An export that was interrupted is made whole by the same command.

Example:
  annals audit log export log-of-today`,
    )
    .action(exportLog);

const exportLog = (folder: string, { json }: { json?: boolean }): Promise<void> => {
  requireOwnFolder(folder);
  return withEngines({ names: ['eventStore', 'readStore', 'keyVault'], keepsFiles: true }, (engines, settings) =>
    unlessInterrupted(async (signal) => {
      const { keys } = openPersonalData(engines, settings);
      const log = openExportedLog({ ...engines, keys }, settings);
      await log.caughtUp();
      const note = await log.checkpoint();
      const checkpoint = parseCheckpoint(parseNote(note).text);
      const { origin, size, root } = checkpoint;
      const write = (path: string, bytes: Uint8Array) => {
        signal.throwIfAborted();
        const file = join(folder, path);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, bytes);
      };
      try {
        await writeTiles(readEvery(engines.eventStore), checkpoint, {
          ...{ write, onProgress: showProgress('entries', size) },
        });
      } catch (error) {
        if (!(error instanceof OtherTree)) throw error;
        throw new CannotStart(`${error.message}: annals audit log verify tells what was changed`, { cause: error });
      }
      mkdirSync(folder, { recursive: true });
      writeFileWhole(join(folder, CHECKPOINT), note, 0o644);
      const text = `${folder} has the ${String(size)} entries of ${origin}`;
      process.stdout.write(
        `${json ? JSON.stringify({ folder, origin, size, root: root.toString('base64') }) : text}\n`,
      );
    }),
  );
};

/** @throws CannotStart */
const requireOwnFolder = (folder: string): void => {
  if (!existsSync(folder)) return;
  const names = readdirSync(folder);
  if (names.length > 0 && !names.includes('tile') && !names.includes(CHECKPOINT))
    throw new CannotStart(`${folder} has other files: name a new folder, or one of an earlier export`);
};
