import { loadSettings, type RequiredSettings } from '../config/load-settings.ts';
import type { Settings } from '../config/settings.ts';
import { reasonToEnd } from '../errors/reason-to-end.ts';
import { createLogger, type Logger } from './logger.ts';
import { keepFilesPrivate } from '../primitives/files/keep-files-private.ts';
import { Shutdown } from './shutdown.ts';

export interface StartingProcess {
  settings: Settings;
  logger: Logger;
  /** Receives what `start` has started, and ends it, also if a later part does not start. */
  shutdown: Shutdown;
}

/**
 * Reads the settings and starts the process. Exits with code 0 after a signal, and with 1 after a fault of ours. If the
 * start fails for an outside reason, prints that in one line, and exits with 1.
 * @param start returns what to print once it runs
 */
export const runProcess = async (
  start: (process: StartingProcess) => Promise<string>,
  needed?: RequiredSettings,
): Promise<void> => {
  keepFilesPrivate();
  try {
    const { settings } = loadSettings(process.env, needed);
    const logger = createLogger(settings);
    await run(start, { settings, logger, shutdown: new Shutdown(logger) });
  } catch (error) {
    process.stderr.write(`annals cannot start: ${reasonToEnd(error)}\n`);
    process.exit(1);
  }
};

const run = async (start: (process: StartingProcess) => Promise<string>, starting: StartingProcess): Promise<void> => {
  const { shutdown } = starting;
  const { promise: hasStarted, resolve: noLongerStarting } = Promise.withResolvers<undefined>();
  stopWhenAsked(starting, hasStarted);
  try {
    const said = await start(starting);
    if (!shutdown.isRequested) process.stdout.write(said);
  } catch (error) {
    await shutdown.run();
    if (!shutdown.isRequested) throw error;
  } finally {
    noLongerStarting(undefined);
  }
};

/** Stops once, however often a stop is requested: by a signal, by the end of the launcher, or by a failure. */
const stopWhenAsked = ({ settings, shutdown, logger }: StartingProcess, hasStarted: Promise<unknown>): void => {
  shutdown.signal.addEventListener('abort', () => {
    process.stdout.write('\nstopping …\n');
    setTimeout(() => {
      logger.error('a part did not stop in time; nothing that was acknowledged is lost');
      shutdown.abandon();
      process.exit(1);
    }, settings.STOP_SECONDS * 1_000).unref();
    void hasStarted
      .then(() => shutdown.run())
      .then(() => {
        process.stdout.write('stopped\n', () => process.exit(shutdown.exitCode));
      });
  });
  const stop = (): void => {
    shutdown.request();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  process.on('disconnect', stop);
  process.on('uncaughtException', (error) => {
    shutdown.fail('internal error', error);
  });
  // Writing to a closed terminal must not prevent the stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.channel?.unref();
  if (process.channel && !process.connected) stop();
};
