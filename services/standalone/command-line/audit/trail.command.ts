import { InvalidArgumentError, type Command } from 'commander';
import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import { command, print, type Json } from '../command.ts';
import { requireHappened } from '../moment.ts';
import { showProgress } from '../show-progress.ts';
import { unlessInterrupted } from '../watches/until-interrupted.ts';
import { withEngines } from '../with-engines.ts';
import { WrongArguments } from '../wrong-arguments.ts';
import { trailOf } from './request-trail.ts';
import { trailText } from './trail-text.ts';

interface Options extends Json {
  from?: number;
  to?: number;
}

export const trailCommand = (): Command =>
  command(
    'trail',
    'follows one request through streams, topics, read models, bundles and blocks, as a tree',
    'audit trail t3e6sdkgchrrwzjxaf6r',
    'audit trail t3e6sdkgchrrwzjxaf6r --from 120000 --to 130000 --json',
  )
    .argument('<request id>', 'the x-request-id of an answer, as log lines and histories have it', requestId)
    .option('--from <position>', 'reads every event from this position on; default with --to: 1', position)
    .option('--to <position>', 'reads every event up to this position; default with --from: the newest', position)
    .option('--json', 'for machines')
    .addHelpText(
      'after',
      '\nThe read model trails says where the lasting events of a request are. With --from or --to every event between these\npositions is read instead, also of repeats, challenges and one-time passwords, which are forgotten in time. Requests that\nchanged nothing have no events. A message is looked for among those since the time of its event.',
    )
    .action(trail);

const requestId = (text: string): string => {
  if (/^[\w-]{1,64}$/.test(text)) return text;
  throw new InvalidArgumentError('It is not a request id: 1 to 64 of A-Z, a-z, 0-9, - and _.');
};

const position = (text: string): number => {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is not a position.');
};

const trail = (id: string, { from, to, ...options }: Options): Promise<void> =>
  withEngines({ names: ['eventStore', 'messageBus', 'readStore'], keepsFiles: false }, async (engines) => {
    const head = await engines.eventStore.head();
    const last = to ?? head;
    const first = from ?? (to === undefined ? undefined : 1);
    for (const [option, value = 1] of [['--from', first] as const, ['--to', last] as const])
      requireHappened(option, { position: value }, { head, clock: engines.clock });
    if (first !== undefined && first > last) throw new WrongArguments('--from is after --to');
    let progress: ReturnType<typeof showProgress> | undefined;
    const found = await unlessInterrupted((signal) =>
      trailOf(engines, { requestId: id, from: first, to: last }, signal, (read, of) => {
        progress ??= showProgress('positions', of);
        progress(read);
      }),
    );
    if (found?.events.length === 0)
      throw new CannotStart(
        `no event has the request id ${id}: the request changed nothing, its events were forgotten, or the id is misspelt; --from 1 looks at every event, also at those that are forgotten in time`,
      );
    if (found) print(options, found, trailText(found));
  });
