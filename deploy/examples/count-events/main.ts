import { join } from 'node:path';
import { Command } from 'commander';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { openEngines } from '../../../shared/host/engines/engines.ts';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { reasonToEnd } from '../../../shared/errors/reason-to-end.ts';
import { createLogger } from '../../../shared/host/logger.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import { startCounting, type Counting } from './count-events.ts';
import { EventCounts, type ContractCounts } from './event-counts.sqlite.ts';

const POLL_INTERVAL_MS = 500;

interface Options {
  counts?: string;
  json?: true;
  once?: true;
}

const count = async ({ counts: file, json, once }: Options): Promise<void> => {
  const signal = stopSignal();
  const { settings } = loadSettings(process.env, {});
  const logger = createLogger(settings);
  await using started = new AsyncDisposableStack();
  const { messageBus } = await openEngines(settings, logger, ['messageBus']);
  started.defer(() => messageBus.close());
  const counts = openCounts(file ?? join(settings.DATA_DIR, 'event-counts.db'));
  started.defer(() => counts.close());
  const counting = await startCounting({ messageBus, counts, logger });
  started.defer(() => counting.close());
  await show({ counting, counts, once: once === true, format: json ? toJson : toTable }, signal);
};

const openCounts = (file: string): EventCounts => {
  try {
    return new EventCounts(file);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CannotStart(`${file} cannot be opened (${reason}): name another by --counts`, { cause });
  }
};

interface ShowOptions {
  counting: Counting;
  counts: EventCounts;
  /** Print once when every message from before the start is counted; otherwise whenever a count changes. */
  once: boolean;
  format: (contracts: ContractCounts[], caughtUp: boolean) => string;
}

const show = async ({ counting, counts, once, format }: ShowOptions, signal: AbortSignal): Promise<void> => {
  for (let shown = ''; !signal.aborted;) {
    const caughtUp = counting.isCaughtUp();
    const now = format(counts.all(), caughtUp);
    if (now !== shown && (caughtUp || !once)) process.stdout.write(now);
    if (once && caughtUp) return;
    shown = now;
    await pause(POLL_INTERVAL_MS, signal);
  }
};

const toJson = (contracts: ContractCounts[], caughtUp: boolean): string =>
  `${JSON.stringify({ caughtUp, contracts })}\n`;

const toTable = (contracts: ContractCounts[], caughtUp: boolean): string => {
  const row = (contract: string, ...numbers: (string | number)[]) =>
    `${contract.padEnd(56)}${numbers.map((one) => one.toLocaleString('en').padStart(12)).join('')}\n`;
  const rows = contracts.map(({ contract, logs, observed, reverted, records }) =>
    row(contract, logs, records, observed, reverted),
  );
  const state = caughtUp ? '' : 'still counting what was published before\n';
  return `${row('contract', 'logs', 'records', 'observed', 'reverted')}${rows.join('')}${state}\n`;
};

/** Aborts on Ctrl-C, and when the launcher or the reader of the output ends; a second Ctrl-C ends the program at once. */
const stopSignal = (): AbortSignal => {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, stop);
  process.once('disconnect', stop);
  process.channel?.unref();
  process.stdout.on('error', stop);
  return stopping.signal;
};

await new Command('npm run count-events --')
  .description(
    'counts the logs of every contract from the topic, and their records; continues after a restart, also after a kill -9',
  )
  .option('--counts <file>', 'file in which the counts are stored; default: event-counts.db in DATA_DIR')
  .option('--once', 'ends when everything that was published before is counted')
  .option('--json', 'prints a line of JSON for every change')
  .addHelpText(
    'after',
    `
A log has a record, and a message, in each watch that it matches: logs are counted by their Id, each once. Of the records
it says how many there are, and how many were ever observed and reverted.

Reads Kafka where KAFKA_BROKERS is set, else the embedded bus in DATA_DIR, also beside a running npm start.

Examples:
  npm run count-events                                            a table whenever a count changes
  npm run count-events -- --once --json
  KAFKA_BROKERS=kafka-1:9092 npm run count-events -- --counts /var/lib/analytics/counts.db`,
  )
  .action(count)
  .parseAsync()
  .catch((error: unknown) => {
    process.stderr.write(`count-events: ${reasonToEnd(error)}\n`);
    process.exitCode = 1;
  });
