import { Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { changeWatchAsOperator, replayWatchAsOperator } from '../../event-catcher/watch-administration.ts';
import { createLogger } from '../../../shared/host/logger.ts';
import { untilAborted } from '../../../shared/primitives/until-aborted.ts';
import { WatchReports } from '../../event-catcher/watch-reports.ts';
import { followStatus } from './follow-status.ts';
import { untilInterrupted } from './until-interrupted.ts';
import { listText, statusText } from './watch-texts.ts';
import { withEngines } from './with-engines.ts';

const EXAMPLE_ID = 'wch_0123456789abcdefghjkmnpqrs';

export const watchCommand = (): Command =>
  new Command('watch')
    .description('registered contract events, whichever apps hold them')
    .addCommand(
      new Command('list')
        .description('every registered event, with its state and how far it was read')
        .option('--json', 'for machines')
        .addHelpText('after', '\nExample:\n  annals watch list --json')
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
  new Command(name)
    .description(description)
    .argument('<watch id>', 'as GET /api/v1/contracts shows it')
    .option('--json', 'for machines')
    .addHelpText('after', `\nExample:\n  annals watch ${name} ${EXAMPLE_ID}`);

const withReports = (work: (reports: WatchReports) => Promise<void>): Promise<void> =>
  withEngines({ names: ['eventStore', 'readStore'], keepsFiles: false }, (engines, settings) =>
    work(new WatchReports({ ...engines, clock: systemClock, logger: createLogger(settings) })),
  );

const list = ({ json }: { json?: boolean }): Promise<void> =>
  withReports(async (reports) => {
    const watches = await reports.list();
    if (json) process.stdout.write(`${JSON.stringify(watches)}\n`);
    else process.stdout.write(watches.length === 0 ? 'no event is registered\n' : listText(watches));
  });

const status = (watchId: string, { json = false, follow }: { json?: boolean; follow?: boolean }): Promise<void> =>
  withReports(async (reports) => {
    if (follow) {
      await untilInterrupted((signal) => {
        const read = () => untilAborted(reports.statusOf(watchId, signal), signal);
        return followStatus({ read, output: process.stdout, json }, signal);
      });
      return;
    }
    const told = await reports.statusOf(watchId);
    process.stdout.write(json ? `${JSON.stringify(told)}\n` : statusText(told));
  });

const change =
  (kind: 'pause' | 'resume') =>
  (watchId: string, { json }: { json?: boolean }): Promise<void> =>
    withEngines({ names: ['eventStore'], keepsFiles: false, changes: true }, async ({ eventStore }) => {
      const watch = await changeWatchAsOperator(watchId, kind, { eventStore, clock: systemClock, ids: systemIds });
      const { id, chainId, contractAddress, eventSignature, paused } = watch;
      const line = `${id} ${paused === null ? 'is read' : 'is paused'}: ${eventSignature} of ${contractAddress}`;
      process.stdout.write(
        json ? `${JSON.stringify({ id, chainId, contractAddress, eventSignature, paused })}\n` : `${line}\n`,
      );
    });

interface ReplayOptions {
  json?: boolean;
  fromBlock?: number;
  toBlock?: number;
}

const replay = (watchId: string, { json, ...blocks }: ReplayOptions): Promise<void> =>
  withEngines({ names: ['eventStore'], keepsFiles: false, changes: true }, async ({ eventStore }) => {
    const replay = await replayWatchAsOperator(watchId, blocks, { eventStore, clock: systemClock, ids: systemIds });
    const { id, fromBlock, toBlock } = replay;
    const line = `${id}: blocks ${String(fromBlock)} to ${String(toBlock)} are read again`;
    process.stdout.write(`${json ? JSON.stringify({ id, fromBlock, toBlock }) : line}\n`);
  });

const blockNumber = (text: string): number => {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It is not the number of a block.');
  return Number(text);
};
