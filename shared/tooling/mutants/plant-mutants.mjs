import { subscribe } from 'node:diagnostics_channel';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join, relative, resolve, sep } from 'node:path';
import { Stryker } from '@stryker-mutator/core';
import { Command } from 'commander';
import { Failure, runCommand } from '../failure.mjs';
import { asText, reportOf } from './mutants-report.mjs';
import { pureFiles } from './pure-files.mjs';
import { root } from '../ready.mjs';

const PERCENT_MIN = 85;

/**
 * Kills the workers and removes the folder however this process ends. A mutant may have made a worker's loop endless, and
 * such a worker would not end by itself.
 * @param {string} folder
 */
const cleanUpAtExit = (folder) => {
  /** @type {import('node:child_process').ChildProcess[]} */
  const workers = [];
  subscribe('child_process', (message) => {
    workers.push(/** @type {{ process: import('node:child_process').ChildProcess }} */ (message).process);
  });
  process.once('exit', () => {
    for (const worker of workers) worker.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  }
  process.once('disconnect', () => process.exit(1));
  process.channel?.unref();
};

/** @param {string} path */
const filesBelow = (path) => {
  const wanted = relative(root, resolve(root, path)).replaceAll(sep, '/');
  const files = pureFiles(root).filter((file) => wanted === '' || file === wanted || file.startsWith(`${wanted}/`));
  if (files.length > 0) return files;
  throw new Failure(`There is no pure file at ${path}: shared/tooling/mutants/pure-files.mjs says which files are.`);
};

/** @param {readonly string[]} files @param {{ isQuiet: boolean }} options */
const plant = async (files, { isQuiet }) => {
  const folder = join(tmpdir(), `annals-mutants-${randomUUID()}`);
  cleanUpAtExit(folder);
  mkdirSync(folder);
  const progress = process.stdout.isTTY ? 'progress' : 'progress-append-only';
  const stryker = new Stryker({
    mutate: [...files],
    tempDirName: folder,
    reporters: isQuiet ? [] : [progress],
  });
  try {
    return await stryker.runMutationTest();
  } catch {
    // Stryker has printed the reason.
    throw new Failure('No mutant was planted: the specs of these files have to pass first.');
  }
};

const command = new Command('npm run mutants')
  .description(
    `Changes pure code (folds, decisions, rules, codecs) in one place at a time, and prints which of these mutants no spec finds.\nExits with 1 if less than ${String(PERCENT_MIN)} % are found.`,
  )
  .argument('[path]', 'a file, or a folder: only what is below it')
  .option('--json', 'for machines')
  .addHelpText(
    'after',
    `
Examples:
  npm run mutants                                   all of it
  npm run mutants shared/read-models                every fold
  npm run mutants services/account/users/domain/user.ts   one file, in seconds
  npm run --silent mutants -- services/relay --json
`,
  )
  .action(async (/** @type {string | undefined} */ path, /** @type {{ json?: boolean }} */ { json = false }) => {
    const mutants = await plant(filesBelow(path ?? ''), { isQuiet: json });
    const report = reportOf(
      mutants.map(({ fileName, ...mutant }) => ({ ...mutant, file: relative(root, fileName).replaceAll(sep, '/') })),
      (file) => readFileSync(join(root, file), 'utf8'),
    );
    console.log(json ? JSON.stringify(report, null, 2) : asText(report, PERCENT_MIN));
    if (report.percent < PERCENT_MIN) process.exitCode = 1;
  });

process.chdir(root);
await runCommand(async () => {
  await command.parseAsync();
});
