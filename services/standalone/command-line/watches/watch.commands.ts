import { InvalidArgumentError, type Command } from 'commander';
import { changeWatchAsOperator, replayWatchAsOperator } from '../../../event-catcher/watch-administration.ts';
import { createLogger } from '../../../../shared/host/logger.ts';
import { untilAborted } from '../../../../shared/primitives/waiting/until-aborted.ts';
import { WatchReports } from '../../../event-catcher/watch-reports.ts';
import { followStatus } from './follow-status.ts';
import { untilInterrupted } from './until-interrupted.ts';
import { listText, statusText } from './watch-texts.ts';
import { command, print, type Json } from '../command.ts';
import { withEngines } from '../with-engines.ts';

const EXAMPLE_ID = 'wch_0123456789abcdefghjkmnpqrs';

export const watchCommand = (): Command =>
  command('watch', 'registered contract events, whichever apps hold them')
    .addCommand(
      command('list', 'every registered event, with its state and how far it was read', 'watch list --json')
        .option('--json', 'for machines')
        .action(list),
    )
    .addCommand(
      ofWatch('status', 'how far a registered event was read, how fast, and how long it takes until it is live')
        .option('--follow', 'shows its progress until it is live, or until Ctrl-C')
        .addHelpText('after', `  annals watch status ${EXAMPLE_ID} --follow`)
        .action(status),
    )
    .addCommand(
      ofWatch('pause', 'reads nothing more of a registered event; only the operator can resume it then').action(
        change('pause'),
      ),
    )
    .addCommand(
      ofWatch('resume', 'reads a registered event again, without bounds if its backfill met one').action(
        change('resume'),
      ),
    )
    .addCommand(
      ofWatch('replay', 'reads final blocks of a registered event again, and stores only what differs from the chain')
        .option('--from-block <number>', 'the first block; without it the start block', blockNumber)
        .option('--to-block <number>', 'the last block; without it the finalized block', blockNumber)
        .action(replay),
    );

const ofWatch = (name: string, description: string): Command =>
  command(name, description, `watch ${name} ${EXAMPLE_ID}`)
    .argument('<watch id>', 'as GET /api/v1/contracts shows it')
    .option('--json', 'for machines');

const withReports = (work: (reports: WatchReports) => Promise<void>): Promise<void> =>
  withEngines({ names: ['eventStore', 'readStore'], keepsFiles: false }, (engines, settings) =>
    work(new WatchReports({ ...engines, logger: createLogger(settings) })),
  );

const list = (options: Json): Promise<void> =>
  withReports(async (reports) => {
    const watches = await reports.list();
    print(options, watches, listText(watches).trimEnd() || 'no event is registered');
  });

const status = (watchId: string, { follow, ...options }: Json & { follow?: boolean }): Promise<void> =>
  withReports(async (reports) => {
    if (follow) {
      await untilInterrupted((signal) => {
        const read = () => untilAborted(reports.statusOf(watchId, signal), signal);
        return followStatus({ read, output: process.stdout, json: options.json === true }, signal);
      });
      return;
    }
    const told = await reports.statusOf(watchId);
    print(options, told, statusText(told).trimEnd());
  });

const change =
  (kind: 'pause' | 'resume') =>
  (watchId: string, options: Json): Promise<void> =>
    withEngines({ names: ['eventStore'], keepsFiles: false, changes: true }, async (stores) => {
      const watch = await changeWatchAsOperator(watchId, kind, stores);
      const { id, chainId, contractAddress, eventSignature, paused } = watch;
      const line = `${id} ${paused === null ? 'is read' : 'is paused'}: ${eventSignature} of ${contractAddress}`;
      print(options, { id, chainId, contractAddress, eventSignature, paused }, line);
    });

interface ReplayOptions extends Json {
  fromBlock?: number;
  toBlock?: number;
}

const replay = (watchId: string, options: ReplayOptions): Promise<void> =>
  withEngines({ names: ['eventStore'], keepsFiles: false, changes: true }, async (stores) => {
    const { id, fromBlock, toBlock } = await replayWatchAsOperator(watchId, options, stores);
    const line = `${id}: blocks ${String(fromBlock)} to ${String(toBlock)} are read again`;
    print(options, { id, fromBlock, toBlock }, line);
  });

const blockNumber = (text: string): number => {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It is not the number of a block.');
  return Number(text);
};
