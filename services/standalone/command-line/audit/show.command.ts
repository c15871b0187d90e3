import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { loadMasterKey } from '../../../../shared/keys/master-key.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import { entityOf } from '../../../../shared/read-models/account/users.ts';
import { command, type Json } from '../command.ts';
import { moment, requireHappened, type Moment } from '../moment.ts';
import { isReaderGone } from '../run-command-line.ts';
import { unlessInterrupted } from '../watches/until-interrupted.ts';
import { withEngines } from '../with-engines.ts';
import { lifeOf, type Life } from './account-life.ts';
import { accountText, itemText } from './life-text.ts';

const EXAMPLE_ID = 'usr_0123456789abcdefghjkmnpqrs';

interface Options extends Json {
  asOf?: Moment;
}

export const showCommand = (): Command =>
  new Command('show')
    .description('what happened, for a person to read')
    .addCommand(
      command(
        'user',
        'an account, and everything that happened to it, oldest first',
        `audit show user ${EXAMPLE_ID}`,
        `audit show user ${EXAMPLE_ID} --as-of 2026-11-18T12:00:00Z`,
        `audit show user ${EXAMPLE_ID} --json | jq .items`,
      )
        .argument('<userId>')
        .option(
          '--as-of <time or position>',
          'shows the account as it was then, and what had happened until then; a date alone is its beginning, UTC',
          moment,
        )
        .option('--json', 'for machines')
        .addHelpText(
          'after',
          '\nReads the event store, as an export does, and shows personal data as an export does: in the clear, until the user is\nerased. Colours only a terminal, and nothing where NO_COLOR is set.',
        )
        .action(showUser),
    );

const showUser = (userId: string, { asOf, json = false }: Options): Promise<void> =>
  withEngines({ names: ['eventStore', 'readStore', 'keyVault'], keepsFiles: true }, (engines, settings) =>
    unlessInterrupted(async (signal) => {
      const { eventStore, clock } = engines;
      const head = await eventStore.head();
      if (asOf) requireHappened('--as-of', asOf, { head, clock });
      const personalData = personalDataOf({ ...engines, masterKey: loadMasterKey(settings) });
      const until = { time: Infinity, position: head, ...asOf };
      const life = await lifeOf({ ...engines, personalData }, { userId, ...until });
      const text = json ? jsonOf(life, asOf) : textOf(userId, life, asOf);
      try {
        await pipeline(Readable.from(text, { objectMode: false }), process.stdout, { end: false, signal });
      } catch (error) {
        if (!isReaderGone(error)) throw error;
      }
    }),
  );

async function* textOf(userId: string, life: Life, asOf: Moment | undefined): AsyncGenerator<string> {
  yield accountText(userId, life, untilText(asOf), process.stdout);
  for await (const item of life.items) yield itemText(userId, item, process.stdout);
}

const untilText = (asOf: Moment | undefined): string => {
  if (!asOf) return 'as of now';
  return 'time' in asOf ? `as of ${toIso(asOf.time)}` : `as of position ${String(asOf.position)}`;
};

/** One document, written piece by piece: a history may be long. */
async function* jsonOf({ user, erasedAt, items }: Life, asOf: Moment | undefined): AsyncGenerator<string> {
  const then = asOf && ('time' in asOf ? toIso(asOf.time) : asOf.position);
  const head = JSON.stringify({ user: user && entityOf(user), erasedAt, asOf: then ?? null });
  yield `${head.slice(0, -1)},"items":[`;
  let separator = '';
  for await (const item of items) {
    yield separator + JSON.stringify(item);
    separator = ',';
  }
  yield ']}\n';
}
