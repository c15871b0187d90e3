import { Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { changeWatchAsOperator, replayWatchAsOperator } from '../../event-catcher/watch-administration.ts';
import { withEngines } from './with-engines.ts';

export const watchCommand = (): Command =>
  new Command('watch')
    .description('registered contract events, whichever apps hold them')
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
    .addHelpText('after', `\nExample:\n  annals watch ${name} wch_0123456789abcdefghjkmnpqrs`);

const change =
  (kind: 'pause' | 'resume') =>
  (watchId: string, { json }: { json?: boolean }): Promise<void> =>
    withEngines({ names: ['eventStore'], keepsFiles: false }, async ({ eventStore }) => {
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
  withEngines({ names: ['eventStore'], keepsFiles: false }, async ({ eventStore }) => {
    const replay = await replayWatchAsOperator(watchId, blocks, { eventStore, clock: systemClock, ids: systemIds });
    const { id, fromBlock, toBlock } = replay;
    const line = `${id}: blocks ${String(fromBlock)} to ${String(toBlock)} are read again`;
    process.stdout.write(`${json ? JSON.stringify({ id, fromBlock, toBlock }) : line}\n`);
  });

const blockNumber = (text: string): number => {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It is not the number of a block.');
  return Number(text);
};
