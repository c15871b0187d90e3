import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { endLeftOverChain, LocalChainFailed } from '../../shared/chain/local-chain-process.ts';
import { loadSettings, SettingsError } from '../../shared/config/load-settings.ts';
import type { Settings } from '../../shared/config/settings.ts';
import { CannotStart } from '../../shared/errors/cannot-start.ts';
import { createLogger, type Logger } from '../../shared/observability/logger.ts';
import { preflight, requireWritable } from './preflight.ts';
import { Shutdown } from './shutdown.ts';
import { lockFolder } from './start-lock.sqlite.ts';
import { startStandalone } from './standalone.ts';
import { welcome } from './welcome.ts';

/** A person waits no longer than this for Ctrl-C; what was acknowledged is stored long before. */
const STOP_WITHIN_MS = 4_500;
/** What `--fresh` removes: the folder may hold something of somebody else's. */
const OURS = /^((events|bus|read)\.db(-wal|-shm|-journal)?|chain|keys|master\.key|dev\.json)$/;

const start = async ({ fresh = false }: { fresh?: boolean }): Promise<void> => {
  const startedAt = performance.now();
  const { settings } = loadSettings(process.env);
  const logger = createLogger(settings);
  const shutdown = new Shutdown(logger);
  const { promise: starting, resolve: noLongerStarting } = Promise.withResolvers<undefined>();
  stopWhenAsked(shutdown, starting, logger);
  try {
    await prepare(settings, fresh, shutdown);
    const running = await startStandalone(settings, logger, shutdown);
    if (!shutdown.isRequested) process.stdout.write(welcome(running, settings, performance.now() - startedAt));
  } catch (error) {
    await shutdown.run();
    if (!shutdown.isRequested) throw error;
  } finally {
    noLongerStarting(undefined);
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
  for (const name of readdirSync(DATA_DIR).filter((one) => OURS.test(one))) {
    rmSync(join(DATA_DIR, name), { recursive: true });
  }
};

/** Stops once, however often and by whom it is asked: a signal, or the end of the launcher. */
const stopWhenAsked = (shutdown: Shutdown, starting: Promise<unknown>, logger: Logger): void => {
  let exitCode = 0;
  const stop = (): void => {
    if (shutdown.isRequested) return;
    shutdown.request();
    process.stdout.write('\nstopping …\n');
    setTimeout(() => {
      logger.error('some part did not stop in time; nothing that was acknowledged is lost');
      shutdown.abandon();
      process.exit(1);
    }, STOP_WITHIN_MS).unref();
    void starting
      .then(() => shutdown.run())
      .then(() => {
        process.stdout.write('stopped\n', () => process.exit(exitCode));
      });
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  process.on('disconnect', stop);
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'a fault of ours: stopping');
    exitCode = 1;
    stop();
  });
  // A terminal that is gone must not keep anything from being stopped.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.channel?.unref();
  if (process.channel && !process.connected) stop();
};

/** What a person can mend is said in one line; anything else is a fault of ours, and shown whole. */
const refuse = (error: unknown): void => {
  process.stderr.write(`annals cannot start: ${reasonOf(error)}\n`);
  process.exit(1);
};

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const isExpected = [CannotStart, LocalChainFailed, SettingsError].some((kind) => error instanceof kind);
  // What the operating system refuses, it names.
  return isExpected || 'syscall' in error ? error.message.replaceAll(/\s*\n\s*/g, ' ') : (error.stack ?? error.message);
};

await new Command('npm start --')
  .description('starts every service in this process, and a local chain unless CHAINS is set')
  .option('--fresh', 'begin anew: removes what is kept in the data folder first')
  .addHelpText(
    'after',
    '\nExamples:\n  npm start\n  npm start -- --fresh\n  DATA_DIR=/tmp/other ACCOUNT_PORT=0 npm start',
  )
  .action(start)
  .parseAsync()
  .catch(refuse);
