import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { endLeftOverChain, LocalChainFailed } from '../../shared/chain/local-chain-process.ts';
import { loadSettings, SettingsError } from '../../shared/config/load-settings.ts';
import type { Settings } from '../../shared/config/settings.ts';
import { createLogger, type Logger } from '../../shared/observability/logger.ts';
import { CannotStart, preflight, requireWritable } from './preflight.ts';
import { Shutdown } from './shutdown.ts';
import { FolderInUse, LOCK_FILE, lockFolder } from './start-lock.sqlite.ts';
import { startStandalone } from './standalone.ts';
import { welcome } from './welcome.ts';

/** A person waits no longer than this for Ctrl-C; what was acknowledged is stored long before. */
const STOP_WITHIN_MS = 4_500;

const start = async ({ fresh = false }: { fresh?: boolean }): Promise<void> => {
  const startedAt = performance.now();
  const { settings } = loadSettings(process.env);
  const logger = createLogger(settings);
  const shutdown = new Shutdown(logger);
  stopOnSignals(shutdown, logger);
  try {
    await prepare(settings, fresh, shutdown);
    const running = await startStandalone(settings, logger, shutdown);
    process.stdout.write(welcome(running, settings, performance.now() - startedAt));
  } catch (error) {
    await shutdown.run();
    throw error;
  }
};

const prepare = async (settings: Settings, fresh: boolean, shutdown: Shutdown): Promise<void> => {
  const { DATA_DIR } = settings;
  requireWritable(DATA_DIR);
  shutdown.add('lock', lockFolder(DATA_DIR));
  const chainFolder = join(DATA_DIR, 'chain');
  if (existsSync(chainFolder)) await endLeftOverChain(chainFolder);
  await preflight(settings);
  if (!fresh) return;
  for (const name of readdirSync(DATA_DIR)) {
    if (!name.startsWith(LOCK_FILE)) rmSync(join(DATA_DIR, name), { recursive: true });
  }
};

/** Stops once, however often and by whom it is asked: a signal, or the end of the launcher. */
const stopOnSignals = (shutdown: Shutdown, logger: Logger): void => {
  let isStopping = false;
  const stop = (): void => {
    if (isStopping) return;
    isStopping = true;
    process.stdout.write('\nstopping …\n');
    setTimeout(() => {
      logger.error('some part did not stop in time; nothing that was acknowledged is lost');
      process.exit(1);
    }, STOP_WITHIN_MS).unref();
    void shutdown.run().then(() => {
      process.stdout.write('stopped\n', () => process.exit(0));
    });
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  process.on('disconnect', stop);
  process.channel?.unref();
  if (process.channel && !process.connected) stop();
};

/** What a person can mend is said in one line; anything else is a fault of ours, and shown whole. */
const refuse = (error: unknown): void => {
  const isExpected = [CannotStart, FolderInUse, LocalChainFailed, SettingsError].some((kind) => error instanceof kind);
  const reason = error instanceof Error ? (isExpected ? error.message : (error.stack ?? error.message)) : String(error);
  process.stderr.write(`annals cannot start: ${reason}\n`);
  process.exit(1);
};

await new Command('npm start --')
  .description('starts every service in this process, and a local chain unless CHAINS is set')
  .option('--fresh', 'begin anew: empties the data folder first')
  .addHelpText(
    'after',
    '\nExamples:\n  npm start\n  npm start -- --fresh\n  DATA_DIR=/tmp/other ACCOUNT_PORT=0 npm start',
  )
  .action(start)
  .parseAsync()
  .catch(refuse);
